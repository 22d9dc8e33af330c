import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Checkpoint,
  checkpointName,
  encodeCheckpoint,
  parseCheckpoint,
} from '../../src/journal/checkpoint.ts';
import { StoreError } from '../../src/stores/store.ts';

/**
 * Checkpoints are read by versions of the product that come after the one that wrote them. The fixtures
 * are what was written; they are never changed, only joined by others.
 */

const FIXTURES = new URL('../fixtures/checkpoints/', import.meta.url);
const names = readdirSync(FIXTURES);
const textOf = (name: string): string => readFileSync(new URL(name, FIXTURES), 'utf8');

describe('a checkpoint of an earlier version', () => {
  it.each(names)('still loads, with nothing lost: %s', (name) => {
    const text = textOf(name);
    const checkpoint = parseCheckpoint(text);
    expect(checkpoint).toEqual(JSON.parse(text));
    expect(parseCheckpoint(encodeCheckpoint(checkpoint))).toEqual(checkpoint);
  });

  it('is there for each version and each kind of moment', () => {
    for (const kind of ['start', 'calls-half-done', 'waits-for-a-person', 'client-tools']) {
      expect(names).toContain(`v1-${kind}.json`);
    }
  });

  it('tells what its run was about to do', () => {
    expect(parseCheckpoint(textOf('v1-start.json'))).toMatchObject({
      turn: 0,
      calls: [],
      continuesSession: true,
    });
    const half = parseCheckpoint(textOf('v1-calls-half-done.json'));
    expect(half.calls.map(({ result }) => result?.text)).toEqual(['42', undefined]);
    const waits = parseCheckpoint(textOf('v1-waits-for-a-person.json'));
    expect(waits.calls[0]?.approval).toMatchObject({ origin: { kind: 'config_gate' } });
    const client = parseCheckpoint(textOf('v1-client-tools.json'));
    expect(client.calls.map(({ client }) => client)).toEqual([true, false]);
    expect(client.clientTools).toHaveLength(2);
  });

  it('is named by version, run and place', () => {
    const checkpoint = parseCheckpoint(textOf('v1-start.json'));
    expect(checkpointName(checkpoint)).toBe(`v1:${checkpoint.runId}:${checkpoint.seq}`);
  });
});

const START = JSON.parse(textOf('v1-start.json')) as Record<string, unknown>;
const WAITS = JSON.parse(textOf('v1-waits-for-a-person.json')) as Record<string, unknown>;

/** A copy with the value at a path replaced, or taken away. */
function changed(whole: Record<string, unknown>, path: string, value?: unknown): string {
  const copy = structuredClone(whole);
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at: Record<string, unknown> = copy;
  for (const key of keys) at = at[key] as Record<string, unknown>;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return JSON.stringify(copy);
}

describe('a checkpoint that cannot be read', () => {
  it.each([2, 0, -1, 1.5, '1', null])('says so when its version is %j', (version) => {
    const text = changed(START, 'version', version);
    expect(() => parseCheckpoint(text)).toThrow(StoreError);
    expect(() => parseCheckpoint(text)).toThrow(`version ${String(version)}`);
  });

  it.each(['', '{', 'null', '[]', '"x"', '1', '{}'])('is no record: %s', (text) => {
    expect(() => parseCheckpoint(text)).toThrow(StoreError);
    expect(() => parseCheckpoint(text)).toThrow(/checkpoint/);
  });

  const optional = new Set(['version', 'continuesSession', 'timeoutMs', 'clientTools']);
  it.each(Object.keys(START).filter((key) => !optional.has(key)))(
    'names the field that is missing: %s',
    (key) => {
      expect(() => parseCheckpoint(changed(START, key))).toThrow(`damaged: ${key}`);
    },
  );

  it.each<[string, unknown]>([
    ['runId', 7],
    ['streaming', 'yes'],
    ['continuesSession', false],
    ['liveness.policy', 'stop'],
    ['liveness.graceMs', '0'],
    ['seq', 1.5],
    ['turn', -1],
    ['recoveries', -1],
    ['messages', {}],
    ['messages.0.role', 'robot'],
    ['messages.0.content', 1],
    ['calls.0.call.id', null],
    ['calls.0.client', 'no'],
    ['calls.0.result', { text: 'x' }],
    ['calls.0.approval.decisionId', 1],
    ['calls.0.approval.origin.kind', 'nobody'],
    ['calls.0.approval.expiresAt', 'soon'],
  ])('names the field that is damaged: %s', (path, value) => {
    const named = path === 'calls.0.result' ? 'calls.0.result.isError' : path;
    expect(() => parseCheckpoint(changed(WAITS, path, value))).toThrow(`damaged: ${named}`);
    expect(() => parseCheckpoint(changed(WAITS, path, value))).toThrow(StoreError);
  });

  it('passes over a field that a newer version added', () => {
    const text = changed(START, 'mood', 'good');
    expect(parseCheckpoint(text)).toEqual(START);
  });

  it('shows nothing of what it holds', () => {
    const text = changed({ ...START, prompt: 'my secret' }, 'messages', 'my secret');
    expect(() => parseCheckpoint(text)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') as string }),
    );
  });
});

describe('any checkpoint', () => {
  const text = fc.string({ unit: 'grapheme' });
  // That one is not taken over from JSON, on purpose: it would be no key but a prototype.
  const key = text.filter((name) => name !== '__proto__');
  const call = fc.record({ id: text, name: text, argumentsText: text });
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('system' as const, 'user' as const), content: text }),
    fc.record({ role: fc.constant('tool' as const), toolCallId: text, content: text }),
    fc.record(
      {
        role: fc.constant('assistant' as const),
        content: text,
        toolCalls: fc.array(call, { maxLength: 3 }),
        interrupted: fc.constant(true as const),
      },
      { requiredKeys: ['role', 'content'] },
    ),
  );
  const approval = fc.record({
    decisionId: text,
    origin: fc.oneof(
      fc.record({ kind: fc.constant('config_gate' as const), matchedPattern: text }),
      fc.record({ kind: fc.constant('agent_requested' as const), reason: text, agentName: text }),
    ),
    argumentsDigest: text,
    requestedAt: fc.nat(),
    expiresAt: fc.nat(),
  });
  const checkpoint: fc.Arbitrary<Checkpoint> = fc.record(
    {
      version: fc.constant(1 as const),
      runId: text,
      sessionId: text,
      agent: text,
      prompt: text,
      continuesSession: fc.constant(true as const),
      streaming: fc.boolean(),
      liveness: fc.record({
        policy: fc.constantFrom('cancel' as const, 'continue' as const, 'park' as const),
        graceMs: fc.nat(),
      }),
      timeoutMs: fc.nat(),
      clientTools: fc.array(
        fc.record({ name: text, parameters: fc.dictionary(key, fc.jsonValue()) }),
        { maxLength: 2 },
      ),
      seq: fc.nat(),
      turn: fc.nat(),
      messages: fc.array(message, { maxLength: 4 }),
      calls: fc.array(
        fc.record(
          {
            call,
            client: fc.boolean(),
            result: fc.record({ text, isError: fc.boolean() }),
            approval,
          },
          { requiredKeys: ['call', 'client'] },
        ),
        { maxLength: 3 },
      ),
      recoveries: fc.nat(),
    },
    {
      requiredKeys: [
        ...['version', 'runId', 'sessionId', 'agent', 'prompt', 'streaming', 'liveness'],
        ...['seq', 'turn', 'messages', 'calls', 'recoveries'],
      ] as never,
    },
  ) as fc.Arbitrary<Checkpoint>;

  it('comes back as it was written', () => {
    fc.assert(
      fc.property(checkpoint, (written) => {
        const plain: unknown = JSON.parse(JSON.stringify(written));
        expect(parseCheckpoint(encodeCheckpoint(written))).toEqual(plain);
      }),
      { numRuns: 300 },
    );
  });
});
