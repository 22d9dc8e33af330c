import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import {
  answer,
  approvedStart,
  ask,
  EXPIRES,
  outcomeOf,
  STORIES,
  type StoryName,
} from './approval-samples.ts';
import { after, both, type Break, change, found, moved, omit, without } from './journal-breaks.ts';
import { finished, journalOf, of, type RunStep, start, started } from './journal-samples.ts';

/**
 * Hazard: an oracle that passes everything is worse than none. Each sound journal is broken in one
 * place, and the break must be found there and nowhere else.
 */

const names = Object.keys(STORIES) as StoryName[];

describe('journal invariants: sound approvals', () => {
  it.each(names)('passes %s', (name) => {
    const violations = checkJournal(journalOf(...STORIES[name]), { ended: true });
    expect(violations).toEqual([]);
  });

  it.each(names)('passes every beginning of %s', (name) => {
    const steps: readonly RunStep[] = STORIES[name];
    for (const [end] of steps.entries()) {
      expect(checkJournal(journalOf(...steps.slice(0, end)))).toEqual([]);
    }
  });

  it('passes one that was decided in time and is told after its run was brought back', () => {
    expect(found(change('approval_completed', {}, EXPIRES + 1)(STORIES.parked))).toEqual([]);
  });

  it('passes one that is decided in its last moment', () => {
    expect(found(change('approval_completed', {}, EXPIRES)(STORIES.approved))).toEqual([]);
  });

  it('passes an expiry that is told late', () => {
    expect(found(change('approval_completed', {}, EXPIRES + 1)(STORIES.timedOut))).toEqual([]);
  });

  it('compares no times where the clock was set', () => {
    const steps = change('approval_completed', {}, EXPIRES + 1)(STORIES.approved);
    expect(checkJournal(journalOf(...steps), { ended: true, clock: 'set' })).toEqual([]);
  });

  it('passes a grant whose decision is trimmed', () => {
    const [first, ...rest] = journalOf(...STORIES.granted);
    const kept = rest.filter(({ seq }) => seq >= 7);
    const trimmed = [first, ...kept].flatMap((entry) =>
      entry === undefined ? [] : [{ ...entry, seq: entry.seq + 10 }],
    );
    expect(checkJournal(trimmed).filter(({ invariant }) => invariant !== 'INV-60')).toEqual([]);
  });

  it('passes what older versions told, without a route and without what a call starts with', () => {
    const steps = both(
      omit('approval_requested', 'route'),
      omit('approval_requested', 'expires_at'),
      omit('tool_start', 'arguments_digest'),
    )(STORIES.approved);
    expect(found(steps)).toEqual([]);
  });
});

type Case = readonly [string, StoryName, Break, readonly string[]];

describe('journal invariants: a gated tool that starts without its approval', () => {
  it.each<Case>([
    [
      'a start without an approval',
      'webhookApproved',
      without('approval_completed'),
      ['3 d stays open', '5 call t starts without approval d'],
    ],
    [
      'a start before the approval',
      'webhookApproved',
      moved('tool_start', 'approval_completed'),
      ['5 call t starts without approval d'],
    ],
    [
      'a start of a call that is asked about too late',
      'webhookApproved',
      moved('tool_start', 'approval_requested'),
      ['3 call t starts without approval d'],
    ],
    [
      'a start after the question was taken back, without a new one',
      'parkedWebhook',
      (steps) =>
        steps.filter(({ event }) => !('decision_id' in event && event.decision_id === 'd2')),
      ['9 call t starts though approval d was cancelled'],
    ],
    [
      'a start after the question was taken back, with a new one that was denied',
      'parkedWebhook',
      change('approval_completed', { outcome: outcomeOf('denied') }),
      [
        '11 call t starts though approval d2 was denied',
        '12 call t does not say that it was denied',
      ],
    ],
    [
      'an approval that had expired',
      'approved',
      change('approval_completed', {}, EXPIRES + 1),
      ['7 d is approved after it expired'],
    ],
    [
      'a denial of what had expired',
      'denied',
      change('approval_completed', {}, EXPIRES + 1),
      ['5 d is denied after it expired'],
    ],
    [
      'an answer to what had expired',
      'elicited',
      change('approval_completed', {}, EXPIRES + 1),
      ['6 d is approved after it expired'],
    ],
    [
      'a start with other arguments than were approved',
      'approved',
      change('tool_start', { arguments_digest: 'sha256:02' }),
      ['8 call t starts with arguments that nobody approved'],
    ],
    [
      'a start that does not tell its arguments',
      'approved',
      omit('tool_start', 'arguments_digest'),
      ['8 call t starts with arguments that nobody approved'],
    ],
    [
      'a start with the arguments that the approver replaced',
      'edited',
      change('tool_start', { arguments_digest: 'sha256:00' }),
      ['6 call t starts with arguments that nobody approved'],
    ],
    [
      'an approval that is about other arguments than were shown',
      'approved',
      change('approval_completed', { arguments_digest: 'sha256:02' }),
      [
        '7 d is approved for other arguments',
        '8 call t starts though approval d was given for other arguments',
      ],
    ],
    [
      'a start after a denial',
      'denied',
      after('approval_completed', approvedStart()),
      ['6 call t starts though approval d was denied'],
    ],
    [
      'a start after an expiry',
      'timedOut',
      after('approval_completed', approvedStart()),
      ['6 call t starts though approval d was timed_out'],
    ],
    [
      'a start after a cancellation',
      'webhookCancelled',
      after('approval_completed', approvedStart()),
      ['5 call t starts though approval d was cancelled'],
    ],
    [
      'a start after a fault of the webhook',
      'webhookErrored',
      after('approval_completed', approvedStart()),
      ['5 call t starts though approval d was errored'],
    ],
    [
      'a start of a call that an earlier run was denied',
      'parked',
      both(
        (steps) => steps.toSpliced(4, 0, of('a', answer('denied')) as RunStep),
        without('approval_completed'),
        after(
          'tool_requested',
          ask({ decision_id: 'd2' }),
          answer('approved', { decision_id: 'd2' }),
        ),
      ),
      ['11 call t starts though approval d was denied'],
    ],
    [
      'a start that rests on an approval of the run before, and nobody gave it',
      'parked',
      without('approval_completed'),
      ['0 d stays open', '8 call t starts without approval d'],
    ],
    [
      'a start in spite of a rule',
      'forbidden',
      after('tool_requested', start()),
      ['3 call t starts though rm_* forbids it'],
    ],
    [
      'a grant that nobody gave',
      'granted',
      (steps) => steps.map(ungranted),
      ['9 d2 rests on d, which approved nothing for the session before'],
    ],
    [
      'a grant for another tool',
      'granted',
      change('approval_requested', { tool_name: 'other' }),
      ['9 d2 rests on d, which approved something else'],
    ],
    [
      'a grant for another pattern',
      'granted',
      change('approval_requested', { origin: { kind: 'config_gate', matched_pattern: 'n*' } }),
      ['9 d2 rests on d, which approved something else'],
    ],
    [
      'a grant that another agent was given',
      'granted',
      (steps) => [
        ...steps.slice(0, 6),
        of('a', finished) as RunStep,
        of('b', { ...started, agent: 'other' } as JournalEvent) as RunStep,
        ...steps.slice(6).map(({ event }) => of('b', event) as RunStep),
      ],
      ['11 d2 rests on d, which approved something else'],
    ],
    [
      'a grant that rests on itself',
      'granted',
      change('approval_completed', { granted_by: 'd2', grant: 'session' }),
      ['9 d2 rests on d2, which approved nothing for the session before'],
    ],
    [
      'a denial that rests on a grant',
      'granted',
      both(
        change('approval_completed', { outcome: outcomeOf('denied') }),
        without('tool_start'),
        change('tool_complete', { approval: 'denied' }),
      ),
      ['9 d2 is denied as granted', '9 d2 rests on d and is denied'],
    ],
  ])('finds %s', (_, name, broken, violations) => {
    expect(found(broken(STORIES[name]))).toEqual(violations);
  });
});

function ungranted(step: RunStep): RunStep {
  if (step.event.type !== 'approval_completed') return step;
  const { grant: _, ...event } = step.event;
  return { ...step, event };
}
