import { describe, expect, it } from 'vitest';
import { eventText } from '../../src/cli/print/event-text.ts';
import { plain, plainJson, plainProse } from '../../src/cli/print/plain.ts';
import { table } from '../../src/cli/print/table.ts';
import { dateText, durationText, fromNow } from '../../src/cli/print/time.ts';
import { fitted, widthOf } from '../../src/cli/print/width.ts';

describe('text from outside', () => {
  it.each([
    ['a\u001b[31mb', 'a\\x1b[31mb'],
    ['a\u0000b\u007fc\u009bd', 'a\\x00b\\x7fc\\x9bd'],
    ['a\r\nb\tc', 'a\\r\\nb\\tc'],
    ['a\u2028b\u202ec\ufeff', 'a\\u2028b\\u202ec\\ufeff'],
    ['a\ud800b', 'a\\ud800b'],
    ['a\u{e0041}b', 'a\\u{e0041}b'],
    ['Grüße, 世界 👩\u200d🚀', 'Grüße, 世界 👩\u200d🚀'],
  ])('%j is shown as %j', (text, shown) => {
    expect(plain(text)).toBe(shown);
  });

  it('keeps its lines where it is prose', () => {
    expect(plainProse('a\r\nb\n\tc\rd\u001b')).toBe('a\nb\n\tc\\rd\\x1b');
  });

  it('stays the same JSON', () => {
    const value = { a: '\u009b\u007f\u202e\u{e0041}', b: ['\n'] };
    const json = JSON.stringify(value, null, 1).replaceAll('\n', '\r\n');
    expect(plainJson(json)).not.toMatch(/[\r\u009b\u007f\u202e]/);
    expect(JSON.parse(plainJson(json))).toEqual(value);
  });
});

describe('width', () => {
  it.each([
    ['abc', 3],
    ['é', 1],
    ['e\u0301', 1],
    ['世界', 4],
    ['한글', 4],
    ['カ', 2],
    ['ｶ', 1],
    ['Ａ', 2],
    ['👩\u200d🚀', 2],
    ['❤\ufe0f', 2],
    ['—…', 2],
  ])('of %s is %i', (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  it.each([
    ['abcdef', 4, 'abc…'],
    ['abcd', 4, 'abcd'],
    ['世界世界', 4, '世…'],
    ['世界', 0, ''],
  ])('%s fits %i as %s', (text, width, shown) => {
    expect(fitted(text, width)).toBe(shown);
  });
});

describe('table', () => {
  interface Row {
    readonly id: string;
    readonly name: string;
    readonly note: string;
  }
  const rows: readonly Row[] = [
    { id: '1234567890', name: 'a name that is long', note: '世界世界' },
  ];
  const columns = [
    { title: 'ID', text: ({ id }: Row) => id },
    { title: 'NAME', text: ({ name }: Row) => name, least: 6 },
    { title: 'NOTE', text: ({ note }: Row) => note, least: 4 },
  ];

  it.each([
    [
      undefined,
      ['ID          NAME                 NOTE', '1234567890  a name that is long  世界世界'],
    ],
    // What a terminal says that does not know.
    [0, ['ID          NAME                 NOTE', '1234567890  a name that is long  世界世界']],
    [30, ['ID          NAME      NOTE', '1234567890  a name …  世界世界']],
    [24, ['ID          NAME    NOTE', '1234567890  a nam…  世…']],
    [20, ['ID          NAME', '1234567890  a name …']],
    [10, ['ID', '1234567890']],
    [6, ['ID', '12345…']],
  ])('for %s columns is cut last and least where it matters', (width, lines) => {
    expect(table(rows, columns, width)).toBe(`${lines.join('\n')}\n`);
  });
});

describe('event', () => {
  it('of a decision names the call, because the entry has no name of the tool', () => {
    const decided = {
      type: 'approval_completed',
      decision_id: 'd1',
      tool_call_id: 'c1',
      outcome: { kind: 'approved' },
    };
    expect(eventText(decided)).toBe('d1 for c1: approved by -');
  });

  it.each<[object, string]>([
    [
      { outcome: { kind: 'denied', reason: 'No.' }, decided_by: 'ann' },
      'denied by ann, reason: No.',
    ],
    [{ outcome: { kind: 'approved' }, granted_by: 'd0' }, 'approved as d0 was'],
    [
      { outcome: { kind: 'approved' }, decided_by: 'ann', grant: 'session' },
      'approved by ann, for the session',
    ],
    [
      { outcome: { kind: 'approved' }, edited: { arguments: { a: 1 } } },
      'approved by -, arguments now {"a":1}',
    ],
    [
      { outcome: { kind: 'cancelled', reason: 'deadline', which: 'total' } },
      'cancelled, reason: deadline, total',
    ],
    [{ outcome: { kind: 'errored', message: 'status 500' } }, 'errored, reason: status 500'],
  ])('of a decision says %j as "%s"', (fields, shown) => {
    const event = { type: 'approval_completed', decision_id: 'd1', tool_call_id: 'c1', ...fields };
    expect(eventText(event)).toBe(`d1 for c1: ${shown}`);
  });

  it('of a reminder and of a notice says what a person wants to know', () => {
    const at = { decision_id: 'd1', tool_call_id: 'c1' };
    const expires_at = '2026-01-01T00:00:00Z';
    const reminder = { ...at, type: 'approval_reminder', tool_name: 'rm', waited_ms: 90_000 };
    expect(eventText({ ...reminder, expires_at } as { type: string })).toBe(
      'd1 for rm waits for 1m 30s, until 2026-01-01T00:00:00Z',
    );
    const notice = { ...at, type: 'approval_withdrawn', reason: 'timed_out' };
    const texts = [true, false].map((notified) => eventText({ ...notice, notified } as never));
    expect(texts).toEqual([
      'd1: timed_out; the webhook was told',
      'd1: timed_out; the webhook was not told',
    ]);
  });
});

describe('time', () => {
  it.each([
    [-5, '0ms'],
    [0, '0ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [860_000, '14m 20s'],
    [3_600_000, '1h'],
    [11_100_000, '3h 5m'],
    [187_200_000, '2d 4h'],
  ])('of %i ms is %s', (ms, shown) => {
    expect(durationText(ms)).toBe(shown);
  });

  it('is told before and after now', () => {
    expect(fromNow(5_000, 0)).toBe('in 5s');
    expect(fromNow(0, 5_000)).toBe('5s ago');
  });

  it('shows a number that is no date', () => {
    expect(dateText(0)).toBe('1970-01-01 00:00:00Z');
    expect(dateText(9e15)).toBe('9000000000000000');
  });
});
