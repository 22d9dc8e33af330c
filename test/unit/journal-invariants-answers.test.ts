import { describe, expect, it } from 'vitest';
import { outcomeOf, pending, reminder, STORIES, type StoryName } from './approval-samples.ts';
import { after, type Break, change, found, moved, omit, without } from './journal-breaks.ts';

type Case = readonly [string, StoryName, Break, readonly string[]];

describe('journal invariants: entries of approvals that say what they may not', () => {
  it.each<Case>([
    [
      'a reminder after the answer',
      'approved',
      after('approval_completed', reminder({ waited_ms: 30 })),
      ['8 approval_reminder of d, which is not open'],
    ],
    [
      'a reminder before the question',
      'webhookApproved',
      moved('approval_reminder', 'approval_requested'),
      ['3 approval_reminder of d, which is not open'],
    ],
    [
      'a reminder that has waited no longer than the one before',
      'approved',
      change('approval_reminder', { waited_ms: 10 }),
      ['6 d has waited 10 ms, and 10 ms before'],
    ],
    [
      'a reminder with another expiry',
      'approved',
      change('approval_reminder', { expires_at: '2027-01-15T08:00:00.000Z' }),
      ['6 2027-01-15T08:00:00.000Z is not when it expires'],
    ],
    [
      'a webhook’s approval that is told to wait here',
      'webhookApproved',
      after('approval_requested', pending()),
      ['4 a webhook is asked, so nobody decides here'],
    ],
    [
      'a waiting that is told twice',
      'approved',
      after('approval_pending', pending()),
      ['5 d is told to wait twice'],
    ],
    [
      'a waiting that is told after the answer',
      'timedOut',
      moved('approval_completed', 'approval_pending'),
      ['5 approval_pending of d, which is not open'],
    ],
    [
      'an expiry that somebody decided',
      'timedOut',
      change('approval_completed', { decided_by: 'key:ops' }),
      ['5 d is timed_out by somebody'],
    ],
    [
      'a denial with an edit',
      'denied',
      change('approval_completed', { edited: { arguments: {}, arguments_digest: 'sha256:01' } }),
      ['5 d is denied with an edit'],
    ],
    [
      'a denial for the session',
      'denied',
      change('approval_completed', { grant: 'session' }),
      ['5 d is denied for the session'],
    ],
    [
      'content for the approval of a call',
      'approved',
      change('approval_completed', { content: {} }),
      ['7 d is approved with content'],
    ],
    [
      'content of an answer that was refused',
      'elicited',
      change('approval_completed', { outcome: outcomeOf('denied') }),
      ['6 d is denied with content'],
    ],
    [
      'a question of a server that is answered for the session',
      'elicited',
      change('approval_completed', { grant: 'session' }),
      ['6 d is approved for the session'],
    ],
    [
      'an answer that is about another call',
      'elicited',
      change('approval_completed', { tool_call_id: 'x' }),
      ['6 d is approved for another call'],
    ],
    [
      'a question of a server before the call starts',
      'elicited',
      moved('approval_requested', 'tool_start'),
      ['3 d is a question of call t, which is not at work'],
    ],
    [
      'a question of a server of a call that never starts',
      'elicited',
      without('tool_start'),
      ['3 d is a question of call t, which is not at work'],
    ],
    [
      'a question of a server that is answered after the call ended',
      'elicited',
      moved('tool_complete', 'approval_completed'),
      ['7 d is a question of call t, which is not at work'],
    ],
    [
      'an expiry that is told as a denial',
      'timedOut',
      change('tool_complete', { approval: 'denied' }),
      ['6 call t ends as denied, and its approval is timed_out'],
    ],
    [
      'a denial that is told as an expiry',
      'denied',
      change('tool_complete', { approval: 'timed_out' }),
      ['6 call t ends as timed_out, and its approval is denied'],
    ],
    [
      'a denial that the end of the call does not tell',
      'denied',
      omit('tool_complete', 'approval'),
      ['6 call t does not say that it was denied'],
    ],
    [
      'an expiry that the end of the call does not tell',
      'webhookTimedOut',
      omit('tool_complete', 'approval'),
      ['6 call t does not say that it was timed_out'],
    ],
    [
      'a refusal that nobody gave',
      'elicited',
      change('tool_complete', { approval: 'denied' }),
      ['7 call t ends as denied, and its approval is not there'],
    ],
  ])('finds %s', (_, name, broken, violations) => {
    expect(found(broken(STORIES[name]))).toEqual(violations);
  });
});
