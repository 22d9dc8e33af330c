import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameTooLargeError, SseSplitter } from '../../src/providers/sse-splitter.ts';

type Event = readonly [data: string, event: string];

function split(pieces: readonly Buffer[]): Event[] {
  const events: Event[] = [];
  const splitter = new SseSplitter((data, event) => events.push([data, event]));
  for (const piece of pieces) splitter.push(piece);
  splitter.end();
  return events;
}

/** The reference: the parser of the field, given the whole text at once. */
function reference(text: string): Event[] {
  const events: Event[] = [];
  const parser = createParser({
    onEvent: ({ data, event }) => events.push([data, event ?? '']),
  });
  parser.feed(new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.from(text)));
  // The one exception that our splitter makes: the end of the stream completes the last event.
  parser.reset({ consume: false });
  return events;
}

const word = fc
  .oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom('', ' ', 'a', 'data', ':', 'é', '語', '😀', '\ufeff', '\t'),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 8 }) },
  )
  .map((text) => text.replaceAll(/[\r\n]/g, ''));
const field = fc.constantFrom('data', 'data', 'data', 'event', 'id', 'retry', 'x', '');
const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(field, fc.constantFrom(':', ': ', ':  '), word).map((p) => p.join('')),
  },
  { weight: 1, arbitrary: fc.constantFrom('data', 'event', 'foo') },
  { weight: 4, arbitrary: fc.constant('') },
);
const ending = fc.constantFrom('\n', '\n', '\r\n', '\r');
const stream = fc
  .tuple(
    fc.constantFrom('', '', '\ufeff'),
    fc.array(
      fc.tuple(line, ending).map((p) => p.join('')),
      { maxLength: 30 },
    ),
  )
  .map(([bom, lines]) => bom + lines.join(''));

/** Cuts anywhere, inside characters too, and makes empty reads. */
function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...cuts.map((cut) => cut % (bytes.length + 1)), 0, bytes.length].sort(
    (a, b) => a - b,
  );
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

describe('sse splitter: any stream, cut anywhere', () => {
  it('gives the events that the reference parser gives', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 12 }), (text, cuts) => {
        // A blank line at the end, so that both agree on the last event.
        const whole = `${text}\n\n`;
        expect(split(cutAt(Buffer.from(whole), cuts))).toEqual(reference(whole));
      }),
      { numRuns: 2_000 },
    );
  });

  it('gives the same events when every byte comes alone', () => {
    fc.assert(
      fc.property(stream, (text) => {
        const bytes = Buffer.from(text);
        const single = Array.from(bytes, (byte) => Buffer.from([byte]));
        expect(split(single)).toEqual(split([bytes]));
      }),
      { numRuns: 500 },
    );
  });

  it('completes the last event at the end, with or without its line end', () => {
    fc.assert(
      fc.property(stream, word, fc.constantFrom('', '\n', '\r\n', '\r'), (text, last, end) => {
        const whole = `${text}\n\ndata: ${last}`;
        expect(split([Buffer.from(whole + end)])).toEqual(reference(`${whole}\n\n`));
      }),
    );
  });

  it('refuses a line or an event beyond its bound, however it is cut', () => {
    const lines = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(lines, fc.array(fc.nat(), { maxLength: 6 }), (lengths, cuts) => {
        const text = lengths.map((length) => `data:${'x'.repeat(length)}\n`).join('');
        const pieces = cutAt(Buffer.from(`${text}\n`), cuts);
        const splitter = new SseSplitter(() => {}, { frameBytesMax: 64 });
        const size = lengths.reduce((sum, length) => sum + length, 0) + lengths.length - 1;
        const feed = (): void => pieces.forEach((piece) => splitter.push(piece));
        if (size > 64) expect(feed).toThrow(FrameTooLargeError);
        else expect(feed).not.toThrow();
      }),
    );
  });

  it('refuses a line without an end as soon as it is too long', () => {
    const splitter = new SseSplitter(() => {}, { frameBytesMax: 1_000 });
    const drip = (): void => {
      for (let i = 0; i < 20; i += 1) splitter.push(Buffer.from('x'.repeat(60)));
    };
    expect(drip).toThrow(FrameTooLargeError);
  });
});
