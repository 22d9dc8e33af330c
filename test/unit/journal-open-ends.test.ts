import { describe, expect, it } from 'vitest';
import type { Envelope, JournalEvent } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { OpenEnds } from '../../src/journal/open-ends.ts';
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

const ENDING = { text: 'the process is gone', at: 1_000 };

/** What is told of entries that came one millisecond after another. */
function told(...events: JournalEvent[]): JournalEvent[] {
  const ends = new OpenEnds();
  for (const [at, event] of events.entries()) ends.note(event, at);
  const payloads = ends.close(ENDING);
  const closed = journalOf(...events, ...payloads.map(({ event }) => event), failed);
  expect(checkJournal(closed as Envelope[], { ended: true })).toEqual([]);
  return payloads.map(({ event }) => event);
}

const pending = { ...asked(), type: 'approval_pending', arguments: {}, expires_at: '' };

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
    const [approval, call] = told(started, requested(), asked(), pending as JournalEvent);
    expect(approval).toEqual({
      type: 'approval_completed',
      decision_id: 'd',
      outcome: { kind: 'cancelled', reason: 'error' },
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
    const outcome = { ...answered('denied'), outcome: { kind } } as unknown as JournalEvent;
    const [end] = told(started, requested(), asked(), outcome);
    expect(end).toMatchObject(call);
    expect(end).not.toHaveProperty('effect');
  });

  it('never count an approval while the tool was running as a reason that it did not run', () => {
    const [approval, call] = told(started, requested(), start(), asked('agent_requested'));
    expect(approval).toMatchObject({ type: 'approval_completed' });
    expect(call).toMatchObject({ effect: 'unknown' });
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
});
