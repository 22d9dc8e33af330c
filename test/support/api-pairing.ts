import { expect } from 'vitest';
import type { FakeUpstream, UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { type Api, begin, ended, says } from './api-kit.ts';

/** One message of a request, as the upstream had it. */
export interface SentMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content?: string | null;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** OpenAI refuses any other key of a message. */
const KEYS: Readonly<Record<SentMessage['role'], readonly string[]>> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls'],
  tool: ['role', 'content', 'tool_call_id'],
};

/**
 * Checks what the fake upstream leaves to its tests: no key that OpenAI does not know, no result
 * without words, no assistant message without any, and each call answered once, right behind the
 * message that made it.
 */
export function expectPaired(messages: readonly SentMessage[]): void {
  const open = new Set<string>();
  for (const message of messages) {
    const { role, content } = message;
    const odd = Object.keys(message).filter((key) => !KEYS[role].includes(key));
    expect(odd, `keys of ${JSON.stringify(message)}`).toEqual([]);
    if (role === 'tool') {
      expect(open.delete(message.tool_call_id ?? ''), 'a result without a call').toBe(true);
      expect(content, 'a result without words').toMatch(/\S/);
      continue;
    }
    expect([...open], 'calls without a result').toEqual([]);
    if (role === 'assistant') expect(hasSomething(message), 'an empty answer').toBe(true);
    for (const { id } of message.tool_calls ?? []) open.add(id);
  }
  expect([...open], 'calls without a result').toEqual([]);
}

const hasSomething = ({ content, tool_calls: calls = [] }: SentMessage): boolean =>
  (content ?? '') !== '' || calls.length > 0;

/** What a request of the upstream was sent with, paired; as short lines. */
export async function sentLines(upstream: FakeUpstream, index: number): Promise<readonly string[]> {
  const { messages } = (await upstream.request(index)).body;
  expectPaired(messages as readonly SentMessage[]);
  return linesOf(messages as readonly SentMessage[]);
}

interface PairingWorld extends Api {
  readonly upstream: FakeUpstream;
  answer(...answers: readonly UpstreamAnswer[]): void;
}

/** The next headless run of the session "s", to its end, and what it sent. */
export async function goOn(world: PairingWorld, prompt = 'Next'): Promise<readonly string[]> {
  const before = world.upstream.requests.length;
  world.answer(says('Fine.'));
  const { run_id: runId } = await begin(world, { prompt });
  expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
  return sentLines(world.upstream, before);
}

export const matching = (line: string | RegExp): unknown =>
  typeof line === 'string' ? line : expect.stringMatching(line);

/** The messages as short lines: who, what was said, which calls were made or answered. */
export function linesOf(messages: readonly SentMessage[]): readonly string[] {
  return messages
    .filter(({ role }) => role !== 'system')
    .map(({ role, content, tool_calls: calls = [], tool_call_id: answered }) => {
      const made = calls.map(({ id, function: { name } }) => `${id}=${name}`);
      const parts = [content ?? '', ...made.map((call) => `[${call}]`)];
      return `${role}${answered === undefined ? '' : ` ${answered}`}: ${parts.join('')}`;
    });
}
