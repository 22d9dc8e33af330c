import fc from 'fast-check';
import { describe, it } from 'vitest';
import { plain, plainJson } from '../../src/cli/print/plain.ts';
import { table } from '../../src/cli/print/table.ts';
import { widthOf } from '../../src/cli/print/width.ts';

/** Hazard: text from a server that takes over the terminal of who looks at it. */

/** Text with many characters that matter: control, wide, joined, turned, halved. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '\u001b[2J',
        '\u009b',
        '世',
        '👩\u200d🚀',
        'e\u0301',
        '\u202e',
        '\ud800',
        '\n',
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

const OBEYED = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|[\u202a-\u202e\u2066-\u2069]/u;

describe('what the commands print', () => {
  it('holds nothing that a terminal obeys', () => {
    fc.assert(fc.property(hostile, (text) => !OBEYED.test(plain(text))));
  });

  it('is the JSON that the server sent', () => {
    fc.assert(
      fc.property(fc.json(), hostile, (json, text) => {
        const sent = `{"a":${json},"b":${JSON.stringify(text)}}`;
        const same =
          JSON.stringify(JSON.parse(plainJson(sent))) === JSON.stringify(JSON.parse(sent));
        return same && !/[\u007f-\u009f\u202e]/.test(plainJson(sent));
      }),
    );
  });

  it('fits the terminal, a line a record', () => {
    const columns = [
      { title: 'ID', text: (row: readonly string[]) => row[0] ?? '' },
      { title: 'LONG', text: (row: readonly string[]) => row[1] ?? '', least: 6 },
      { title: 'LAST', text: (row: readonly string[]) => row[2] ?? '', least: 4 },
    ];
    const row = fc.array(hostile, { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 5 }),
        fc.integer({ min: 1, max: 120 }),
        (rows, width) => {
          const lines = table(rows, columns, width).split('\n').slice(0, -1);
          return lines.length === rows.length + 1 && lines.every((line) => widthOf(line) <= width);
        },
      ),
    );
  });
});
