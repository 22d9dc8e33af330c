import { describe, expect, it } from 'vitest';
import type { JournalEvent, LivenessFields } from '../../src/journal/events.ts';
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
  finished,
  goingOn,
  journalOf,
  of,
  parked,
  queued,
  requested,
  start,
  started,
  type Step,
  text,
  within,
} from './journal-samples.ts';

const check = (steps: Step[]) =>
  checkJournal(journalOf(...steps)).map(({ invariant, seq }) => `${invariant}@${seq}`);

const under = (policy: LivenessFields['policy'], grace_ms = 0): JournalEvent =>
  ({ ...started, liveness: { policy, grace_ms } }) as JournalEvent;

const other: JournalEvent = { ...attached, observer: { ...attached.observer, id: 'p' } };
const otherLeft = { ...detached, observer: other.observer } as JournalEvent;
const lateGrace: JournalEvent = { type: 'claims_exhausted', grace_ms: 5 };

describe('journal invariants: claims', () => {
  it.each<[string, Step[]]>([
    ['a claim that is kept', [started, attached, text, finished]],
    ['a second claim that keeps the run', [started, attached, other, detached, text, finished]],
    [
      'a claim inside the window, and its loss decided',
      [
        ...[under('cancel', 5), attached, detached, lateGrace, within, detached, lateGrace],
        ...[decided(), cancelled('unclaimed')],
      ],
    ],
    [
      'continue that decides again',
      [
        ...[under('continue'), attached, detached, exhausted, decided('continue'), attached],
        ...[detached, exhausted, decided('continue'), finished],
      ],
    ],
    ['an end inside the window', [under('park', 5), attached, detached, lateGrace, finished]],
    [
      'a claim of a run that waits',
      [queued, attached, detached, exhausted, decided(), cancelled('unclaimed')],
    ],
    [
      'a run that begins inside the grace of the claim that it lost while it waited',
      [
        ...[{ ...queued, liveness: { policy: 'cancel', grace_ms: 5 } } as JournalEvent, attached],
        ...[detached, lateGrace, under('cancel', 5), decided(), cancelled('unclaimed')],
      ],
    ],
  ])('passes %s', (_, steps) => {
    expect(check(steps)).toEqual([]);
  });

  it.each<[string, string[], Step[]]>([
    ['one that attaches twice', ['JN-05@3'], [started, attached, attached, finished]],
    ['one that leaves without having been there', ['JN-05@2'], [started, detached, finished]],
    ['an exhaustion of a run that never had one', ['JN-05@2'], [started, exhausted, finished]],
    [
      'an exhaustion while another one is there',
      ['JN-05@5'],
      [started, attached, other, detached, exhausted, otherLeft, finished],
    ],
    ['a decision inside no window', ['JN-05@3'], [started, attached, decided(), finished]],
    [
      'a decision after a claim came inside the window',
      ['JN-05@6'],
      [under('continue', 5), attached, detached, lateGrace, within, decided('continue'), finished],
    ],
    [
      'a claim inside the window that does not say so',
      ['JN-05@5'],
      [under('cancel', 5), attached, detached, lateGrace, attached, finished],
    ],
    ['a claim that says so outside of it', ['JN-05@2'], [started, within, finished]],
    [
      'another grace than the run was started with',
      ['JN-05@4'],
      [started, attached, detached, lateGrace, finished],
    ],
    [
      'another policy than the run was started with',
      ['JN-05@5'],
      [started, attached, detached, exhausted, decided('park'), finished],
    ],
    [
      'a claim after the decision to park',
      ['JN-05@6'],
      [under('park'), attached, detached, exhausted, decided('park'), attached, parked()],
    ],
  ])('finds %s', (_, violations, steps) => {
    expect(check(steps)).toEqual(violations);
  });
});

/** A run `a` that parks with a gated call open. */
const WAITING = [of('a', started), of('a', requested()), of('a', asked()), of('a', parked())];
const going = (run: string, event: JournalEvent) => of(run, event);
const GOES_ON = [
  going('b', goingOn('started', 'a')),
  going('b', requested()),
  going('b', answered('approved')),
  going('b', start()),
  going('b', complete()),
];

describe('journal invariants: parking', () => {
  it.each<[string, Step[]]>([
    [
      'a run that parks with a question and one that goes on',
      [...WAITING, ...GOES_ON, going('b', finished)],
    ],
    ['one that parks before it began', [queued, parked()]],
    [
      'a chain through one that waited in vain',
      [
        ...WAITING,
        going('x', goingOn('queued', 'a')),
        going('x', parked()),
        ...GOES_ON.map((step) => step),
        going('b', finished),
      ].map((step) =>
        'run' in step && step.run === 'b' && step.event.type === 'started'
          ? going('b', goingOn('started', 'x'))
          : step,
      ),
    ],
    [
      'one that waited and then began',
      [...WAITING, going('b', goingOn('queued', 'a')), ...GOES_ON, going('b', finished)],
    ],
    [
      'one that is cancelled while it waits to go on',
      [...WAITING, going('b', goingOn('queued', 'a')), going('b', cancelled('external'))],
    ],
    [
      'a lost run that may execute a call again',
      [
        ...[
          of('a', started),
          of('a', requested()),
          of('a', start()),
          of('a', parked('owner_lost')),
        ],
        ...[going('b', goingOn('started', 'a')), going('b', requested()), going('b', start())],
        ...[going('b', complete()), going('b', finished)],
      ],
    ],
  ])('passes %s', (_, steps) => {
    expect(check(steps)).toEqual([]);
  });

  it.each<[string, string[], Step[]]>([
    [
      'two that go on with one run',
      ['JN-04@11'],
      [
        ...WAITING,
        ...GOES_ON,
        going('b', finished),
        going('c', goingOn('started', 'a')),
        going('c', requested()),
        going('c', answered('approved')),
        going('c', start()),
        going('c', complete()),
        going('c', finished),
      ],
    ],
    [
      'one that goes on with a run that finished',
      ['JN-04@3'],
      [of('a', started), of('a', finished), of('b', goingOn('started', 'a')), of('b', finished)],
    ],
    [
      'one that goes on with a run that nobody knows',
      ['JN-04@1'],
      [of('b', goingOn('started', 'z')), of('b', finished)],
    ],
    [
      'one that began before the other had parked',
      ['JN-04@2'],
      [of('a', started), of('b', goingOn('started', 'a')), of('a', parked()), of('b', finished)],
    ],
    [
      'one that waits for one run and begins with another',
      ['JN-04@4'],
      [
        of('a', started),
        of('a', parked()),
        of('b', goingOn('queued', 'a')),
        of('b', started),
        of('b', finished),
      ],
    ],
    [
      'a call that was left open and is forgotten (INV-37)',
      ['INV-37@5'],
      [
        ...WAITING,
        going('b', goingOn('started', 'a')),
        going('b', answered('denied')),
        going('b', finished),
      ],
    ],
    [
      'a call at work when its run parks (INV-39)',
      ['INV-39@3'],
      [...[of('a', started), of('a', requested()), of('a', start()), of('a', parked())]],
    ],
    ['a run that waits when it has begun', ['JN-03@2'], [started, queued, finished]],
    ['a run that waits twice', ['JN-03@2'], [queued, queued, started, finished]],
    [
      'an approval that the run which goes on leaves open',
      ['JN-11@0'],
      [
        ...WAITING,
        going('b', goingOn('started', 'a')),
        going('b', requested()),
        going('b', complete()),
        going('b', finished),
      ],
    ],
  ])('finds %s', (_, violations, steps) => {
    expect(check(steps).toSorted()).toEqual(violations);
  });
});
