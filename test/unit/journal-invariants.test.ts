import { describe, expect, it } from 'vitest';
import { CHECKS, checkJournal, claimsTellOneStory } from '../../src/journal/invariants.ts';
import {
  answered,
  asked,
  attached,
  cancelled,
  complete,
  decided,
  detached,
  exhausted,
  failed,
  finished,
  journalOf,
  obligation,
  of,
  progress,
  refused,
  requested,
  start,
  started,
  type Step,
  stopping,
  text,
} from './journal-samples.ts';

describe('journal invariants: bad journals', () => {
  // The samples are as short as what is wrong with them; whole stories of claims have their own table.
  const checks = CHECKS.filter((check) => check !== claimsTellOneStory);
  const check = (steps: Step[]) =>
    checks
      .flatMap((check) => check(journalOf(...steps)))
      .map(({ invariant, seq }) => `${invariant}@${seq}`);

  it.each<[string, string[], Step[]]>([
    ['two ends', ['INV-35@3'], [started, finished, failed]],
    ['an entry after the end', ['INV-23@3'], [started, finished, text]],
    ['a run that does not start', ['JN-01@1'], [text, finished]],
    ['a run that starts late', ['JN-01@1', 'JN-01@2'], [text, started, finished]],
    ['a run that starts twice', ['JN-01@2'], [started, started, finished]],
    [
      'a tool call left open by a finished run',
      ['INV-37@2'],
      [started, requested(), start(), finished],
    ],
    ['a tool call left open by a failed run', ['INV-37@2'], [started, requested(), failed]],
    [
      'a tool requested twice',
      ['JN-06@3'],
      [started, requested(), requested(), complete(), finished],
    ],
    [
      'a tool started twice',
      ['JN-06@4'],
      [started, requested(), start(), start(), complete(), finished],
    ],
    [
      'a tool completed twice',
      ['JN-06@5'],
      [started, requested(), start(), complete(), complete(), finished],
    ],
    [
      'a tool started after its end',
      ['JN-06@4'],
      [started, requested(), complete(), start(), finished],
    ],
    ['a tool that nobody requested', ['JN-06@2'], [started, start(), complete(), finished]],
    [
      'progress before the start',
      ['JN-06@3'],
      [started, requested(), progress(), start(), complete(), finished],
    ],
    [
      'progress after the end',
      ['JN-06@5', 'JN-06@6'],
      [started, requested(), start(), complete(), progress(), complete(), finished],
    ],
    [
      'a tool start after stopping',
      ['INV-18@4'],
      [started, requested(), stopping(), start(), complete(), cancelled('external')],
    ],
    ['text after stopping', ['INV-15@3'], [started, stopping(), text, cancelled('external')]],
    [
      'reasoning after stopping',
      ['INV-15@3'],
      [started, stopping(), { type: 'reasoning', content: 'x' }, cancelled('external')],
    ],
    ['a second stop', ['INV-33@3'], [started, stopping(), stopping(), cancelled('external')]],
    [
      'a gated tool that starts unapproved',
      ['JN-07@4'],
      [started, requested(), asked(), start(), answered('approved'), complete(), finished],
    ],
    [
      'a gated tool that starts though denied',
      ['JN-07@5'],
      [started, requested(), asked(), answered('denied'), start(), refused('denied'), finished],
    ],
    [
      'a tool approved with other arguments',
      ['JN-07@5', 'JN-14@4'],
      [
        started,
        requested(),
        asked(),
        answered('approved', 'sha256:01'),
        start(),
        complete(),
        finished,
      ],
    ],
    ['an approval left open', ['JN-11@3'], [started, requested(), asked(), complete(), finished]],
    [
      'an approval answered twice',
      ['JN-11@5'],
      [
        ...[started, requested(), asked(), answered('denied'), answered('denied')],
        ...[refused('denied'), finished],
      ],
    ],
    ['an answer to nothing', ['JN-11@2'], [started, answered('denied')]],
    ['an approval asked for twice', ['JN-11@3'], [started, asked(), asked()]],
    [
      'an obligation left open',
      ['INV-17@3'],
      [started, stopping(), obligation('asked'), cancelled('external')],
    ],
    [
      'an obligation closed twice',
      ['INV-17@5'],
      [
        started,
        stopping(),
        obligation('asked'),
        obligation('confirmed'),
        obligation('abandoned'),
        cancelled('external'),
      ],
    ],
    [
      'an obligation closed unasked',
      ['INV-17@3'],
      [started, stopping(), obligation('confirmed'), cancelled('external')],
    ],
    [
      'an obligation asked twice',
      ['INV-17@4'],
      [
        started,
        stopping(),
        obligation('asked'),
        obligation('asked'),
        obligation('confirmed'),
        cancelled('external'),
      ],
    ],
    ['an unclaimed end without its story', ['JN-02@2'], [started, cancelled('unclaimed')]],
    [
      'an unclaimed end whose observer never left',
      ['JN-02@5'],
      [started, exhausted, decided(), stopping('unclaimed'), cancelled('unclaimed')],
    ],
    [
      'an unclaimed end without exhausted claims',
      ['JN-02@4'],
      [started, detached, decided(), cancelled('unclaimed')],
    ],
    [
      'an unclaimed end without a decision',
      ['JN-02@5'],
      [started, detached, exhausted, stopping('unclaimed'), cancelled('unclaimed')],
    ],
    [
      'an unclaimed end in the wrong order',
      ['JN-02@5'],
      [started, exhausted, detached, decided(), cancelled('unclaimed')],
    ],
    [
      'an unclaimed end though somebody came back',
      ['JN-02@6'],
      [started, detached, exhausted, attached, decided(), cancelled('unclaimed')],
    ],
    [
      'an unclaimed end under another policy',
      ['JN-02@4'],
      [started, detached, exhausted, decided('continue'), cancelled('unclaimed')],
    ],
    [
      'an unclaimed end after another stop',
      ['INV-33@5'],
      [started, detached, exhausted, decided(), stopping('external'), cancelled('unclaimed')],
    ],
    [
      'an obligation before stopping',
      ['JN-02@5'],
      [
        started,
        detached,
        exhausted,
        decided(),
        obligation('asked'),
        stopping('unclaimed'),
        obligation('confirmed'),
        cancelled('unclaimed'),
      ],
    ],
    [
      'an obligation without stopping',
      ['JN-02@5', 'JN-02@6'],
      [
        started,
        detached,
        exhausted,
        decided(),
        obligation('asked'),
        obligation('confirmed'),
        cancelled('unclaimed'),
      ],
    ],
  ])('finds %s', (_, violations, steps) => {
    expect(check(steps)).toEqual(violations);
  });

  it.each([
    ['a hole', [1, 2, 4]],
    ['a double', [1, 2, 2]],
    ['a step back', [1, 2, 1]],
    ['a late beginning', [2, 3, 4]],
  ])('finds %s in seq (INV-60)', (_, seqs) => {
    const entries = journalOf(started, text, finished).map((entry, i) => {
      return { ...entry, seq: seqs[i] as number };
    });

    expect(CHECKS[0]?.(entries)).toMatchObject([{ invariant: 'INV-60', runId: 'r' }]);
  });

  it('finds a run that never ends where all must have ended (INV-35)', () => {
    const journal = journalOf(of('a', started), of('b', started), of('a', finished), of('b', text));

    expect(checkJournal(journal)).toEqual([]);
    expect(checkJournal(journal, { ended: true })).toMatchObject([
      { invariant: 'INV-35', runId: 'b', seq: 4 },
    ]);
  });

  it('does not blame one run for another', () => {
    const journal = journalOf(of('a', started), of('a', finished), of('b', started), of('a', text));

    expect(checkJournal(journal)).toMatchObject([{ invariant: 'INV-23', runId: 'a', seq: 4 }]);
  });
});
