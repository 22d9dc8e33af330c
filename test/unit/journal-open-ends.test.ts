import { describe, expect, it } from 'vitest';
import type { Envelope, JournalEvent } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { OpenEnds } from '../../src/journal/open-ends.ts';
import { answer, ask, EXPIRES, pending, QUESTION, withdrawn } from './approval-samples.ts';
import {
  answered,
  asked,
  complete,
  failed,
  journalOf,
  obligation,
  progress,
  requested,
  start,
  started,
  stopping,
  text,
} from './journal-samples.ts';

const ENDING = { text: 'the process is gone', reason: 'owner_lost', at: 1_000 } as const;

/** What is told of entries that came one millisecond after another. */
function told(...events: JournalEvent[]): JournalEvent[] {
  const ends = new OpenEnds();
  for (const [at, event] of events.entries()) ends.note(event, at);
  const closing = ends.close(ENDING).map(({ event }) => event);
  for (const event of closing) ends.note(event, ENDING.at);
  const notices = ends.owed.map(({ decisionId }) => withdrawn({ decision_id: decisionId }));
  const closed = journalOf(...events, ...closing, ...notices, failed);
  expect(checkJournal(closed as Envelope[], { ended: true })).toEqual([]);
  return closing;
}

/** What waits for somebody after these entries, and whom it owes a notice. */
function standing(...events: JournalEvent[]) {
  const ends = new OpenEnds();
  for (const event of events) ends.note(event, 0);
  return { open: ends.open, owed: ends.owed.map(({ outcome }) => outcome.kind), ends };
}

describe('open ends of a run whose owner is gone', () => {
  it('are none where nothing is open', () => {
    expect(told(started, text)).toEqual([]);
    expect(told()).toEqual([]);
    expect(told(started, requested(), start(), complete())).toEqual([]);
    expect(told(started, obligation('asked'), obligation('confirmed'))).toEqual([]);
  });

  it('have an unknown effect when the call had started, or nobody held it back (INV-37, INV-38)', () => {
    const [running, waiting] = told(
      started,
      requested('a'),
      requested('b'),
      start('a'),
      progress('a'),
    );
    const unknown = {
      type: 'tool_complete',
      tool_name: 'n',
      success: false,
      effect: 'unknown',
      error: expect.stringMatching(/the process is gone; it may have been executed/),
    };
    expect(running).toEqual({ ...unknown, tool_id: 'a', duration_ms: 999 });
    expect(waiting).toEqual({ ...unknown, tool_id: 'b', duration_ms: 998 });
  });

  it('cancel what waits for a person, and say of its call that it did not run', () => {
    const [approval, call] = told(started, requested(), ask(), pending());
    expect(approval).toEqual({
      type: 'approval_completed',
      decision_id: 'd',
      outcome: { kind: 'cancelled', reason: 'owner_lost' },
      duration_ms: 998,
      scope: { kind: 'single' },
      tool_call_id: 't',
      arguments_digest: 'sha256:00',
    });
    expect(call).toMatchObject({ success: false, approval: 'cancelled' });
    expect(call).not.toHaveProperty('effect');
  });

  it('take an approved call for one that may have run', () => {
    const [call] = told(started, requested(), asked(), answered('approved'));
    expect(call).toMatchObject({ success: false, effect: 'unknown' });
    expect(call).not.toHaveProperty('approval');
  });

  it.each([
    { kind: 'denied', call: { success: true, approval: 'denied' } },
    { kind: 'timed_out', call: { success: false, approval: 'timed_out' } },
    { kind: 'cancelled', call: { success: false, approval: 'cancelled' } },
    { kind: 'errored', call: { success: false } },
  ] as const)('keep what a person or the clock decided: $kind', ({ kind, call }) => {
    const [end] = told(started, requested(), asked(), answer(kind));
    expect(end).toMatchObject(call);
    expect(end).not.toHaveProperty('effect');
  });

  it('never count the question of a server as a reason that its call did not run', () => {
    const [approval, call] = told(started, requested(), start(), ask({ origin: QUESTION }));
    expect(approval).toMatchObject({ type: 'approval_completed', outcome: { kind: 'cancelled' } });
    expect(call).toMatchObject({ effect: 'unknown' });
    expect(call).not.toHaveProperty('approval');
    expect(standing(requested(), start(), ask({ origin: QUESTION })).ends.held.size).toBe(0);
  });

  it('take an answered question of a server for no approval of its call', () => {
    const steps = [started, requested(), start(), ask({ origin: QUESTION }), answer('denied')];
    expect(told(...steps)).toMatchObject([{ type: 'tool_complete', effect: 'unknown' }]);
  });

  it('know nothing of whether a call may run from what a server asked', () => {
    const { ends } = standing(requested(), ask({ origin: QUESTION }), answer('denied'));
    expect(ends.close(ENDING)).toMatchObject([{ event: { success: false, effect: 'unknown' } }]);
  });

  it('end the question of a server also where its call goes on, and keep what a person was asked', () => {
    const { ends } = standing(
      ...[requested(), start(), ask({ origin: QUESTION })],
      ...[requested('t2'), ask({ decision_id: 'd2', tool_call_id: 't2' })],
    );
    const closing = ends.close(ENDING, new Set(['t', 't2']));
    expect(closing).toMatchObject([{ event: { type: 'approval_completed', decision_id: 'd' } }]);
  });

  it('end the question of a webhook also where its call goes on, which stays held back', () => {
    const { ends } = standing(requested(), ask({ route: 'webhook' }));
    const closing = ends.close(ENDING, new Set(['t']));
    expect(closing).toMatchObject([{ event: { type: 'approval_completed', decision_id: 'd' } }]);
    for (const { event } of closing) ends.note(event, ENDING.at);

    expect([...ends.held]).toEqual(['t']);
    expect([ends.openFor('t'), ends.isRefused('t')]).toEqual([undefined, false]);
    expect(ends.owed).toMatchObject([{ decisionId: 'd' }]);
  });

  it('keep the question of a person where its call goes on', () => {
    const { ends } = standing(requested(), ask());
    expect(ends.close(ENDING, new Set(['t']))).toEqual([]);
    expect([...ends.held]).toEqual(['t']);
    expect(ends.openFor('t')).toMatchObject({ event: { decision_id: 'd' } });
  });

  it('hold back what a run before it asked, told of again or not', () => {
    const ends = new OpenEnds();
    ends.inherit({ event: ask() as never, at: 0, route: 'conversational', expiresAt: EXPIRES });
    expect([...ends.held]).toEqual(['t']);
    ends.note(requested(), 1);
    expect([...ends.held]).toEqual(['t']);
    ends.note(answer('approved'), 2);
    expect([...ends.held]).toEqual([]);
  });

  it('leave the calls of the caller to the caller', () => {
    expect(told(started, requested('c', true))).toEqual([]);
  });

  it('abandon what was asked and never answered (INV-17)', () => {
    const [end] = told(started, stopping(), obligation('asked'), obligation('asked', 'x'), {
      ...obligation('confirmed', 'x'),
    });
    expect(end).toEqual({ ...obligation('abandoned'), waited_ms: 998 });
  });

  it('have no negative duration when the clock was set back', () => {
    const ends = new OpenEnds();
    ends.note(requested(), ENDING.at + 5);
    expect(ends.close(ENDING)).toMatchObject([{ kind: 'agent', event: { duration_ms: 0 } }]);
  });

  it('may be asked for twice', () => {
    const ends = new OpenEnds();
    ends.note(requested(), 0);
    expect(ends.close(ENDING)).toEqual(ends.close(ENDING));
  });

  it('tell how and until when somebody is asked', () => {
    const { open } = standing(
      ...[requested(), ask({ route: 'webhook' })],
      ...[requested('t2'), ask({ decision_id: 'd2', tool_call_id: 't2' })],
      ...[answer('approved', { decision_id: 'd2' }), ask({ decision_id: 'd3', origin: QUESTION })],
    );
    expect(
      open.map(({ event, route, expiresAt }) => [event.decision_id, route, expiresAt]),
    ).toEqual([
      ['d', 'webhook', EXPIRES],
      ['d3', 'conversational', EXPIRES],
    ]);
  });

  it('know of what older versions asked until when, once that was told', () => {
    expect(standing(requested(), asked()).open).toMatchObject([{ route: 'conversational' }]);
    expect(standing(requested(), asked()).open[0]).not.toHaveProperty('expiresAt');
    expect(standing(requested(), asked(), pending()).open).toMatchObject([{ expiresAt: EXPIRES }]);
  });

  it.each([
    { kind: 'timed_out', owed: ['timed_out'] },
    { kind: 'cancelled', owed: ['cancelled'] },
    { kind: 'errored', owed: ['errored'] },
    { kind: 'approved', owed: [] },
    { kind: 'denied', owed: [] },
  ] as const)('owe a webhook that was asked a notice when it ended $kind', ({ kind, owed }) => {
    const asking = [requested(), ask({ route: 'webhook' })];
    expect(standing(...asking).owed).toEqual([]);
    expect(standing(...asking, answer(kind)).owed).toEqual(owed);
    expect(standing(...asking, answer(kind), withdrawn()).owed).toEqual([]);
    expect(standing(requested(), ask(), answer(kind)).owed).toEqual([]);
  });

  it('owe a notice for what they close, whoever asked', () => {
    const ends = new OpenEnds();
    const event = ask({ route: 'webhook' }) as Extract<
      JournalEvent,
      { type: 'approval_requested' }
    >;
    ends.inherit({ event, at: 0, route: 'webhook', expiresAt: EXPIRES });
    ends.note(requested(), 1);
    for (const payload of ends.close(ENDING)) ends.note(payload.event, ENDING.at);
    expect(ends.owed).toEqual([
      { decisionId: 'd', toolCallId: 't', outcome: { kind: 'cancelled', reason: 'owner_lost' } },
    ]);
  });
});
