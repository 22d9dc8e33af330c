import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { WebhookChannel, WebhookContext, WebhookQuestion } from '../../src/hitl/channel.ts';
import { createWebhookChannel } from '../../src/hitl/webhook/channel.ts';
import type { WebhookTarget } from '../../src/hitl/webhook/request.ts';
import type { VerifyingKeys } from '../../src/hitl/webhook/signing.ts';
import { createLog } from '../../src/log.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import {
  type ReceiverOptions,
  startWebhookReceiver,
  type WebhookReceiver,
} from './webhook-receiver.ts';

export const SECRET = '0123456789abcdef0123456789abcdef';
export const SECOND_SECRET = 'fedcba9876543210fedcba9876543210';
export const DECISION_ID = '018f2c1a-7b3d-7000-8000-000000000000';
/** A whole second. */
export const NOW_MS = 1_700_000_000_000;
export const SIGNING = { secret: SECRET, secondary: SECOND_SECRET, toleranceMs: 300_000 };

export const QUESTION: WebhookQuestion = {
  decisionId: DECISION_ID,
  runId: '018f2c1a-7b3d-7000-8000-000000000001',
  sessionId: 'session-1',
  origin: { kind: 'config_gate', matchedPattern: 'delete_*' },
  toolName: 'delete_file',
  arguments: { path: '/tmp/ä', depth: [1, null] },
  expiresAt: NOW_MS + 60_000,
  may: { edit: false, grant: false },
};

export interface ChannelOptions {
  readonly route?: Partial<WebhookTarget>;
  readonly signing?: Omit<VerifyingKeys, 'nowMs'>;
  readonly clock?: Clock;
  readonly redact?: (text: string) => string;
}

/** A channel to `url` whose log is kept. Its time stands at {@link NOW_MS}. */
export function channelTo(
  url: string,
  options: ChannelOptions = {},
): { readonly channel: WebhookChannel; readonly logged: string[] } {
  const logged: string[] = [];
  const channel = createWebhookChannel({
    route: {
      url,
      headers: {},
      headersFromRequest: {},
      toolHeadersFromResponse: {},
      ...options.route,
    },
    signing: options.signing,
    clock: options.clock ?? createVirtualClock(NOW_MS),
    log: createLog({ destination: { write: (line) => void logged.push(line) } }),
    ...(options.redact && { redact: options.redact }),
  });
  return { channel, logged };
}

export const contextOf = (
  signal: AbortSignal = new AbortController().signal,
  requestHeaders: Readonly<Record<string, string>> = {},
): WebhookContext => ({ signal, requestHeaders });

/** A receiver that the test closes when it is over, and a channel to it. */
export async function world(options: ChannelOptions & ReceiverOptions = {}): Promise<{
  readonly receiver: WebhookReceiver;
  readonly channel: WebhookChannel;
  readonly logged: string[];
}> {
  const receiver = await startWebhookReceiver(options);
  onTestFinished(() => receiver.close());
  return { receiver, ...channelTo(receiver.url, options) };
}
