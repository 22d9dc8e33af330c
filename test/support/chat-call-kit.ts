import { readChatCall, type ChatCall } from '../../src/http/chat/chat-call.ts';
import type { HttpConfig } from '../../src/http/config.ts';
import { HttpError } from '../../src/http/errors.ts';
import type { AgentSummary } from '../../src/handle.ts';
import { createCountingIds } from '../../src/testing/ids.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import { AGENT } from './fake-handle.ts';
import { HTTP_CONFIG } from './http-world.ts';

export interface ChatCallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly agents?: readonly AgentSummary[];
  readonly defaultAgent?: string;
  readonly config?: Partial<HttpConfig>;
}

export const HI = { role: 'user', content: 'hi' };

/** Reads the body of a chat request as the route does. */
export function readCall(
  body: unknown,
  { headers = {}, agents = [AGENT], defaultAgent, config = {} }: ChatCallOptions = {},
): ChatCall {
  const handle = { agents, ...(defaultAgent === undefined ? {} : { defaultAgent }) };
  const clock = createVirtualClock(1_700_000_000_999);
  return readChatCall({
    body,
    headers,
    handle,
    config: { ...HTTP_CONFIG, ...config },
    clock,
    ids: createCountingIds(),
  });
}

/** The error that a request is refused with. Throws when it is accepted. */
export function refusal(body: unknown, options: ChatCallOptions = {}): HttpError {
  try {
    readCall(body, options);
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
  throw new Error('The request was accepted.');
}
