import { describe, expect, it } from 'vitest';
import type { ModelSink } from '../../src/model.ts';
import { type ModelEvent, modelFromGenerator } from '../../src/providers/generator.ts';

/** Hazard: an agent in plain JavaScript may yield anything, and nothing may be lost in silence. */

const request = { messages: [], tools: [] };
const call = { id: 'c1', name: 'add', argumentsText: '{}' };
const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 };

/** Streams what a generator yields and gives what the sink was told. */
async function streamed(events: readonly unknown[], ended: () => void = () => {}) {
  const told: (readonly [string, unknown])[] = [];
  const note = (method: string) => (value: unknown) => void told.push([method, value]);
  const sink: ModelSink = {
    text: note('text'),
    reasoning: note('reasoning'),
    toolCall: note('toolCall'),
    usage: note('usage'),
    finish: note('finish'),
    activity: () => {},
    full: () => undefined,
  };
  const model = modelFromGenerator({
    model: 'm',
    async *turn() {
      try {
        // What the types forbid is what is tried here.
        yield* events as readonly ModelEvent[];
      } finally {
        ended();
      }
    },
  });
  await model.stream(request, sink, new AbortController().signal);
  return told;
}

const failure = async (event: unknown): Promise<string> =>
  streamed([event]).then(String, (error: Error) => error.message);

describe('a model made of a generator', () => {
  it('hands on each event in its order and finishes', async () => {
    const events = [
      { type: 'reasoning', delta: 'hm' },
      { type: 'text', delta: '' },
      { type: 'tool_call', call },
      { type: 'usage', usage },
      { type: 'finish', reason: 'length' },
    ];
    expect(await streamed(events)).toEqual([
      ['reasoning', 'hm'],
      ['text', ''],
      ['toolCall', call],
      ['usage', usage],
      ['finish', 'length'],
      ['finish', 'stop'],
    ]);
  });

  it.each([
    [{ type: 'text', text: 'Hello' }, 'an event "text" whose "delta" is not a string'],
    [{ type: 'text', delta: 3 }, 'an event "text" whose "delta" is not a string'],
    [{ type: 'reasoning' }, 'an event "reasoning" whose "delta" is not a string'],
    [{ type: 'tool_call' }, 'an event "tool_call" whose "call.id" is not a string'],
    [
      { type: 'tool_call', call: { ...call, name: undefined } },
      'an event "tool_call" whose "call.name" is not a string',
    ],
    [
      { type: 'tool_call', call: { ...call, argumentsText: {} } },
      'an event "tool_call" whose "call.argumentsText" is not a string',
    ],
    [{ type: 'usage' }, 'an event "usage" whose "usage.promptTokens" is not a number'],
    [
      { type: 'usage', usage: { ...usage, totalTokens: Number.NaN } },
      'an event "usage" whose "usage.totalTokens" is not a number',
    ],
    [
      { type: 'finish', reason: 'done' },
      'an event "finish" whose "reason" is not one of "stop", "length", "tool_calls", "content_filter"',
    ],
  ])('refuses %j by its field', async (event, what) => {
    expect(await failure(event)).toBe(`The agent yielded ${what}.`);
  });

  it.each([
    [{ type: 'say', delta: 'x' }, 'an event of the unknown type "say"'],
    [{}, 'an event of the unknown type "undefined"'],
    ['Hello', 'no event'],
    [null, 'no event'],
    [undefined, 'no event'],
  ])('refuses %j, which is no event it knows', async (event, what) => {
    expect(await failure(event)).toBe(
      `The agent yielded ${what}; yield objects whose "type" is one of ` +
        'text, reasoning, tool_call, usage and finish.',
    );
  });

  it('fails the run for good, and lets the generator clean up', async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    await expect(streamed([{ type: 'text' }, { type: 'text' }], resolve)).rejects.toMatchObject({
      failure: { code: 'internal_error', retryable: false },
    });
    await ended;
  });
});
