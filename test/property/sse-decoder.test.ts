import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ModelSink } from '../../src/model.ts';
import { ChatDecoder } from '../../src/providers/chat-decoder.ts';
import { DeltaTemplate } from '../../src/providers/delta-template.ts';
import { ToolCallGatherer } from '../../src/providers/tool-call-gatherer.ts';

type Call = readonly [method: string, value: unknown];

/**
 * Decodes the frames. `plainly` puts a growing number of spaces before them, which mean nothing to
 * JSON, so that no frame is ever like one before and each goes through the parser.
 */
function decode(frames: readonly string[], { plainly }: { plainly: boolean }): Call[] {
  const calls: Call[] = [];
  const note = (method: string) => (value: unknown) => void calls.push([method, value]);
  const sink: ModelSink = {
    text: note('text'),
    reasoning: note('reasoning'),
    toolCall: note('toolCall'),
    usage: note('usage'),
    finish: note('finish'),
    activity: () => undefined,
    full: () => undefined,
  };
  const decoder = new ChatDecoder(sink, new ToolCallGatherer([], () => 'call_minted'));
  for (const [at, frame] of frames.entries()) {
    try {
      decoder.event(plainly ? ' '.repeat(at) + frame : frame, '');
    } catch (error) {
      calls.push(['throws', error instanceof Error ? error.name : error]);
    }
  }
  decoder.end();
  return calls;
}

/** Texts that tempt a fast path: quotes, escapes, syntax, names of keys, halves of characters. */
const text = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('a', 'Hello', ' world', 'assistant', 'stop', 'content', '語', '😀'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '',
      '"',
      '\\',
      '\n',
      '\u0000',
      '\ud800',
      '"}',
      '","content":"x',
      '\u2028',
      '\u007f',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
);

const delta = fc.oneof(
  { weight: 6, arbitrary: fc.record({ content: text }) },
  { weight: 1, arbitrary: fc.record({ role: fc.constant('assistant'), content: text }) },
  { weight: 2, arbitrary: fc.record({ reasoning_content: text }) },
  {
    weight: 2,
    arbitrary: fc.record({
      reasoning: fc.constantFrom('', 'a'),
      reasoning_content: fc.constantFrom('', 'b', 'c'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ content: text, refusal: fc.constantFrom(null, 'no') }) },
  { weight: 1, arbitrary: fc.record({ content: text, reasoning_content: text }) },
  { weight: 1, arbitrary: fc.constant({}) },
);

const chunk = fc
  .tuple(
    delta,
    fc.constantFrom(
      {},
      {},
      { usage: null },
      { usage: { prompt_tokens: 1, completion_tokens: 2 } },
      { usage: { prompt_tokens: 1, completion_tokens: 3 } },
    ),
    fc.constantFrom({}, {}, {}, { error: null }, { error: { message: 'no' } }),
    fc.oneof(fc.constant({}), fc.record({ obfuscation: text })),
    fc.constantFrom(0, 0, 0, 0, 1),
    fc.constantFrom([], [], [], [{ index: 0, delta: { content: 'second' } }]),
  )
  .map(([fields, usage, error, noise, index, others]) => ({
    id: 'chatcmpl-1',
    choices: [{ index, delta: fields, finish_reason: null }, ...others],
    ...usage,
    ...error,
    ...noise,
  }));

/** Ways of writing the same JSON. */
const written = fc
  .tuple(chunk, fc.constantFrom(0, 0, 0, 1), fc.boolean())
  .map(([value, indent, ascii]) => {
    const json = JSON.stringify(value, null, indent);
    return ascii
      ? json.replaceAll(
          /[^\x20-\x7e\n]/g,
          (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
        )
      : json;
  });

/** Now and then a frame is damaged, so that it is no JSON or another JSON. */
const frame = fc.oneof(
  { weight: 12, arbitrary: written },
  {
    weight: 1,
    arbitrary: fc
      .tuple(written, fc.nat(), fc.constantFrom('"', '\\', '\t', '}', ',', 'x'))
      .map(([json, at, c]) => json.slice(0, at % json.length) + c + json.slice(at % json.length)),
  },
);

afterEach(() => vi.restoreAllMocks());

describe('chat decoder: the fast path', () => {
  it('agrees with JSON.parse on any sequence of frames', () => {
    fc.assert(
      fc.property(fc.array(frame, { minLength: 2, maxLength: 25 }), (frames) => {
        expect(decode(frames, { plainly: false })).toEqual(decode(frames, { plainly: true }));
      }),
      { numRuns: 3_000 },
    );
  });

  it('gives what the parser gives for a frame made of a learned one and any bytes', () => {
    const middle = fc.oneof(text, fc.string({ unit: 'binary', maxLength: 6 }));
    fc.assert(
      fc.property(written, middle, middle, (seed, replacement, noise) => {
        const made = seed.replace(/"content": ?"[^"]*"/, () => `"content":"${replacement}"`);
        const frames = [
          seed,
          made,
          made.replace(/("obfuscation": ?")[^"]*"/, `$1${noise.replaceAll('$', '')}"`),
        ];
        expect(decode(frames, { plainly: false })).toEqual(decode(frames, { plainly: true }));
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads a run of plain deltas without parsing them', () => {
    const plain = (content: string, noise: string): string =>
      JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }], obfuscation: noise });
    const frames = Array.from({ length: 50 }, (_, i) => plain(`word ${i}`, 'x'.repeat(i % 7)));
    const parse = vi.spyOn(JSON, 'parse');

    const calls = decode(frames, { plainly: false });

    expect(calls).toHaveLength(50);
    // The first frame, and the probe that proves the template.
    expect(parse).toHaveBeenCalledTimes(2);
  });

  it('learns nothing from a frame whose text stands elsewhere first', () => {
    const template = new DeltaTemplate();
    const seen = '{"delta":{"role":"x","content":"x"}}';
    const textOf = (value: unknown): unknown =>
      (value as { delta: { content: string } }).delta.content;

    template.learn(seen, { textOf, text: 'x' });

    expect(template.match('{"delta":{"role":"y","content":"x"}}')).toBeUndefined();
  });

  it.each([
    ['without noise', ''],
    ['with noise', ',"obfuscation":"abc"'],
  ])('does not take a frame for a learned one that goes on behind it, %s', (_what, noise) => {
    const plain = `{"choices":[{"delta":{"content":"x"}}]${noise}}`;
    const calls = decode([plain, plain, `${plain}}`, `${plain.slice(0, -1)},"error":"no"}`], {
      plainly: false,
    });
    expect(calls.map(([method]) => method)).toEqual(['text', 'text', 'throws', 'throws']);
  });

  it('leaves an empty text to the parser, which may look at another key', () => {
    const frame = (content: string): string =>
      `{"choices":[{"delta":{"reasoning_content":"${content}","reasoning":"other"}}]}`;
    const frames = ['x', 'y', ''].map(frame);
    expect(decode(frames, { plainly: false }).map(([, value]) => value)).toEqual([
      'x',
      'y',
      'other',
    ]);
  });

  it('reads the usage of a frame that is like one before', () => {
    const counted = (content: string): string =>
      `{"choices":[{"delta":{"content":"${content}"}}],"usage":{"prompt_tokens":1}}`;
    const other = '{"choices":[],"usage":{"prompt_tokens":2}}';
    const calls = decode([counted('x'), other, counted('y')], { plainly: false });
    expect(calls.at(-1)).toMatchObject(['usage', { promptTokens: 1 }]);
  });

  it('keeps the channel of what it learned when it learns nothing new', () => {
    const text = (content: string): string => `{"choices":[{"delta":{"content":"${content}"}}]}`;
    const unprovable = '{"choices":[{"delta":{"role":"a","reasoning_content":"a"}}]}';
    const calls = decode([text('x'), unprovable, text('y')], { plainly: false });
    expect(calls.map(([method]) => method)).toEqual(['text', 'reasoning', 'text']);
  });

  it('goes on learning where what it learns is of use', () => {
    const parse = vi.spyOn(JSON, 'parse');
    const frames = Array.from({ length: 200 }, (_, i) =>
      JSON.stringify({ created: Math.floor(i / 10), choices: [{ delta: { content: 'x' } }] }),
    );
    decode(frames, { plainly: false });
    expect(parse).toHaveBeenCalledTimes(40);
  });

  it('stops learning where no frame is like the one before', () => {
    const parse = vi.spyOn(JSON, 'parse');
    const frames = Array.from({ length: 100 }, (_, i) =>
      JSON.stringify({ created: i, choices: [{ index: 0, delta: { content: 'x' } }] }),
    );
    decode(frames, { plainly: false });
    expect(parse.mock.calls.length).toBeLessThanOrEqual(108);
  });
});
