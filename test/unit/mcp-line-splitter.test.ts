import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter } from '../../src/mcp/line-splitter.ts';

function split(bytes: Buffer, cuts: readonly number[], max = 1_000_000): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter(max);
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    splitter.push(bytes.subarray(from, cut), (line) => lines.push(line));
    from = cut;
  }
  return lines;
}

describe('the line splitter', () => {
  it('gives the same lines however the stream is cut', () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((s) => s.replace(/[\r\n]/g, '')));
    fc.assert(
      fc.property(text, fc.infiniteStream(fc.nat()), (lines, rolls) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const cuts = [...rolls.take(5)]
          .map((roll) => roll % (bytes.length + 1))
          .sort((a, b) => a - b);
        expect(split(bytes, cuts)).toEqual(lines);
      }),
    );
  });

  it('takes the carriage return off and keeps the rest for later', () => {
    expect(split(Buffer.from('a\r\nb\n\nc'), [2])).toEqual(['a', 'b', '']);
  });

  it('throws for a line over its bound and goes on after it', () => {
    const splitter = new LineSplitter(4);
    const lines: string[] = [];
    expect(() => splitter.push(Buffer.from('12345'), () => {})).toThrow('longer than 4 bytes');
    splitter.push(Buffer.from('1234\n'), (line) => lines.push(line));
    expect(lines).toEqual(['1234']);
  });
});
