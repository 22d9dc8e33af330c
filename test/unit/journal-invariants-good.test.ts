import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
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
  queued,
  refused,
  requested,
  start,
  started,
  type Step,
  stopping,
  text,
  within,
} from './journal-samples.ts';

describe('journal invariants: good journals', () => {
  it.each<[string, Step[]]>([
    ['an empty one', []],
    ['a run that answers', [started, attached, text, finished]],
    ['a run under way', [started, requested(), start(), progress()]],
    ['a tool that runs', [started, requested(), start(), progress(), complete(), finished]],
    ['a tool that never starts', [started, requested(), complete(), failed]],
    ['a tool of the caller', [started, requested('t', true), finished]],
    [
      'an approved tool',
      [started, requested(), asked(), answered('approved'), start(), complete(), finished],
    ],
    [
      'a denied tool',
      [started, requested(), asked(), answered('denied'), refused('denied'), finished],
    ],
    [
      'an agent that asks',
      [
        ...[started, requested(), asked('agent_requested'), answered('approved'), start()],
        ...[complete(), finished],
      ],
    ],
    ['an approval that waits', [started, requested(), asked()]],
    [
      'a stop by the operator',
      [
        started,
        text,
        stopping(),
        obligation('asked'),
        obligation('confirmed'),
        cancelled('external'),
      ],
    ],
    [
      'an obligation asked again after it was abandoned',
      [
        started,
        stopping(),
        obligation('asked'),
        obligation('abandoned'),
        obligation('asked'),
        obligation('confirmed'),
        failed,
      ],
    ],
    ['a run cancelled in the queue', [queued, cancelled('external')]],
    ['a run that waited in the queue', [queued, started, finished]],
    [
      'a disconnect',
      [
        started,
        attached,
        text,
        detached,
        exhausted,
        decided(),
        stopping('unclaimed'),
        obligation('asked'),
        obligation('confirmed'),
        cancelled('unclaimed'),
      ],
    ],
    [
      'a disconnect with nothing to stop',
      [started, attached, detached, exhausted, decided(), cancelled('unclaimed')],
    ],
    [
      'a disconnect after one that was made good',
      [
        started,
        attached,
        detached,
        exhausted,
        within,
        text,
        detached,
        exhausted,
        text,
        decided(),
        stopping('unclaimed'),
        cancelled('unclaimed'),
      ],
    ],
    [
      'two runs side by side',
      [
        of('a', started),
        of('b', started),
        of('a', stopping()),
        of('b', text),
        of('a', cancelled('external')),
        of('b', requested()),
        of('b', start()),
        of('b', complete()),
        of('b', finished),
      ],
    ],
  ])('passes %s', (_, steps) => {
    expect(checkJournal(journalOf(...steps))).toEqual([]);
  });

  it('passes entries that belong to no run', () => {
    const [entry] = journalOf(text);
    const { run_id: _, ...free } = entry as Envelope;

    expect(checkJournal([free])).toEqual([]);
  });
});
