import { describe, expect, it } from 'vitest';
import { links, Tale } from './explain-kit.ts';

/** Chart positions of the run, as its log has them. */
const TURNING = 'live.{work.begun.stepping.turning, parking.unasked}';
const EXECUTING = 'live.{work.begun.stepping.acting.executing, parking.unasked}';
const PREPARING = 'live.{work.begun.preparing, parking.unasked}';

describe('why a run was cancelled', () => {
  it('cancelled unclaimed without grace: leaving, exhaustion, decision, stop, end', () => {
    const told = new Tale().started().leave('cancel').stopping('unclaimed', 1);
    told.obligation('model', 'turn-1', 'asked').obligation('model', 'turn-1', 'confirmed', 2);
    const why = told.ends({ type: 'cancelled', reason: 'unclaimed' }, 'client').explain();
    expect(links(why)).toEqual(['entry 2', 'entry 3', 'entry 4', 'entry 5', 'entry 8']);
    expect(why.prose).toEqual([
      'The last reader left: it closed its connection (seq 2).',
      'Nobody else held the run, and it has no grace window (seq 3).',
      'It was started under the policy cancel: without a reader it is cancelled (seq 4).',
      'The run was told to stop, with 1 thing under way; the model request of turn 1 confirmed ' +
        'it within 2 ms (seq 5).',
      'The run was cancelled, because nobody was reading it any more, after 0 ms (seq 8).',
    ]);
  });

  it('cancelled unclaimed with grace: the window passed and nobody came back', () => {
    const told = new Tale({ liveness: { policy: 'cancel', grace_ms: 30_000 } }).started();
    told.leave('cancel', 30_000).stopping('unclaimed', 1);
    const why = told.ends({ type: 'cancelled', reason: 'unclaimed' }, 'client').explain();
    expect(links(why)).toEqual(['entry 2', 'entry 3', 'timer', 'entry 4', 'entry 5', 'entry 6']);
    expect(why.prose[2]).toBe('The grace window of 30 s passed and nobody came back.');
    expect(why.chain[2]?.at).toBe((told.entries[2]?.at ?? 0) + 30_000);
  });

  it('cancelled unclaimed tells of the last time without a reader, not of those before', () => {
    const observer = { id: 'reader', kind: 'claiming', presence: false } as const;
    const told = new Tale().started();
    told.tell(
      { type: 'observer_detached', observer, because: 'released' },
      { type: 'claims_exhausted', grace_ms: 0 },
      { type: 'observer_attached', observer, within_grace: true },
    );
    told.leave('cancel').stopping('unclaimed', 1);
    const why = told.ends({ type: 'cancelled', reason: 'unclaimed' }, 'client').explain();
    expect(links(why)).toEqual(['entry 5', 'entry 6', 'entry 7', 'entry 8', 'entry 9']);
  });

  it('cancelled by a person after continue decided once: no reader’s leaving is a cause', () => {
    const told = new Tale({ liveness: { policy: 'continue', grace_ms: 0 } }).started();
    told.leave('continue').stopping('external', 1);
    const why = told.ends({ type: 'cancelled', reason: 'external' }, 'operator').explain();
    expect(links(why)).toEqual(['entry 5', 'entry 6']);
    expect(why.prose.at(-1)).toContain('Somebody asked to cancel the run, so it was cancelled');
  });

  it('cancelled external with a message: where the work stood, and the message', () => {
    const told = new Tale().started().step({ from: TURNING, to: 'stopping', event: 'run.stop' });
    told.stopping('external', 1);
    const cancelled = { type: 'cancelled', reason: 'external', message: 'Too\n  slow' } as const;
    const why = told.ends(cancelled, 'operator').explain();
    expect(why.prose).toEqual([
      'The run was told to stop while the model was at work, with 1 thing under way (seq 2).',
      'Somebody asked to cancel the run and said “Too slow”, so it was cancelled after 0 ms ' +
        '(seq 3).',
    ]);
  });

  it('cancelled external with nothing under way: where the work stood, in the last sentence', () => {
    const told = new Tale()
      .started()
      .step({ from: 'live.{work.queued, parking.unasked}', to: 'settling' });
    const why = told.ends({ type: 'cancelled', reason: 'external' }, 'operator').explain();
    expect(why.prose).toEqual([
      'Somebody asked to cancel the run while it waited for its session, so it was cancelled ' +
        'after 0 ms (seq 2).',
    ]);
  });

  it('cancelled superseded: the newer run of the session', () => {
    const told = new Tale().started().tellOther('run-2', {
      type: 'queued',
      agent: 'agent',
      liveness: { policy: 'continue', grace_ms: 0 },
    });
    told.stopping('superseded', 1);
    const why = told.ends({ type: 'cancelled', reason: 'superseded' }, 'client', [2]).explain();
    expect(links(why)).toEqual(['entry 2', 'entry 3', 'entry 4']);
    expect(why.prose[0]).toContain('A newer run, run-2, was started in the session');
  });

  it('cancelled by shutdown', () => {
    const why = new Tale()
      .started()
      .stopping('shutdown', 1)
      .ends({ type: 'cancelled', reason: 'shutdown' }, 'supervisor')
      .explain();
    expect(links(why)).toEqual(['entry 2', 'entry 3']);
    expect(why.prose.at(-1)).toContain('the server was shutting down');
  });

  it('cancelled by shutdown after it could not be parked in time', () => {
    const told = new Tale({ liveness: { policy: 'park', grace_ms: 0 } }).started();
    const asked = 'live.{work.begun.stepping.turning, parking.asked}';
    told.step({ from: TURNING, to: asked, event: 'run.stop' }).wait(5_000);
    told.step({ from: asked, to: 'stopping', event: 'after parkBound' }).stopping('shutdown', 1);
    const why = told.ends({ type: 'cancelled', reason: 'shutdown' }, 'supervisor').explain();
    expect(links(why)).toEqual(['transition', 'timer', 'entry 2', 'entry 3']);
    expect(why.prose[1]).toBe('It came to no checkpoint within 5 s.');
  });

  it('cancelled by a lost lease', () => {
    const why = new Tale()
      .started()
      .stopping('lease_lost', 1)
      .ends({ type: 'cancelled', reason: 'lease_lost' }, 'store')
      .explain();
    expect(why.prose.at(-1)).toContain('lost the right to write the session');
  });

  it('cancelled client_tool: the tool that the caller executes', () => {
    const told = new Tale().started().tell({
      type: 'tool_requested',
      tool_id: 'c1',
      tool_name: 'open_door',
      arguments: {},
      arguments_text: '{}',
      client: true,
    });
    const why = told.ends({ type: 'cancelled', reason: 'client_tool' }, 'client').explain();
    expect(links(why)).toEqual(['entry 2', 'entry 3']);
    expect(why.prose[0]).toContain('open_door, which the caller executes itself');
  });
});

describe('why a deadline ended a run', () => {
  const deadline = (which: 'total' | 'setup' | 'first_chunk' | 'inactivity' | 'step', ms: number) =>
    ({ type: 'cancelled', reason: 'deadline', which, after_ms: ms }) as const;

  it('total: its time, and what the run was at', () => {
    const told = new Tale().started().call('c1', 'search').wait(900_000);
    told.step({ from: EXECUTING, to: 'stopping', event: 'deadline.reached' });
    told.stopping('deadline', 1, 'total').obligation('tool', 'c1', 'asked').wait(5_000);
    told.obligation('tool', 'c1', 'abandoned', 5_000);
    const why = told.ends(deadline('total', 900_000), 'deadline').explain();
    expect(links(why)).toEqual(['entry 3', 'timer', 'entry 4', 'obligation 6', 'entry 7']);
    expect(why.prose[1]).toBe(
      'The run’s total time of 15 min was over while its tools were at work.',
    );
    expect(why.prose[3]).toBe(
      'The tool call c1 did not answer within 5 s and was abandoned: what it did is not known ' +
        '(seq 6).',
    );
  });

  it('setup: the tools were not connected', () => {
    const told = new Tale().started().wait(30_000).step({ from: PREPARING, to: 'stopping' });
    const why = told
      .stopping('deadline', 1, 'setup')
      .ends(deadline('setup', 30_000), 'deadline')
      .explain();
    expect(links(why)).toEqual(['timer', 'entry 2', 'entry 3']);
    expect(why.prose[0]).toBe(
      'Setup took longer than its time of 30 s: the run’s tools were not connected by then.',
    );
  });

  it('first_chunk: the model had sent nothing', () => {
    const told = new Tale().started().wait(90_000).stopping('deadline', 1, 'first_chunk');
    const why = told.ends(deadline('first_chunk', 90_000), 'deadline').explain();
    expect(why.prose[0]).toBe(
      'The window of 1 min 30 s for the model’s first output passed, and nothing had come.',
    );
    expect(why.prose.at(-1)).toContain(
      'The run was cancelled by its first-chunk deadline after 1 min 30 s',
    );
  });

  it('inactivity: the model had begun and fell silent', () => {
    const told = new Tale().started().stopping('deadline', 1, 'inactivity');
    const why = told.ends(deadline('inactivity', 20_000), 'deadline').explain();
    expect(why.prose[0]).toBe(
      'The model had begun to answer and then sent nothing for its whole window of 20 s.',
    );
  });

  it('step: which tool or person the step waited for', () => {
    const told = new Tale().started().ask('d1', 'c1', 'pay').call('c2', 'search').wait(360_000);
    told.stopping('deadline', 2, 'step');
    const why = told.ends(deadline('step', 360_000), 'deadline').explain();
    expect(links(why)).toEqual(['entry 4', 'entry 6', 'timer', 'entry 7', 'entry 8']);
    expect(why.prose[0]).toContain(
      'A person was asked to approve the tool pay (approval d1) and had not decided',
    );
    expect(why.prose[1]).toContain('The tool search (c2) had been begun and had no result');
    expect(why.prose[2]).toContain('took longer than its time of 6 min');
  });
});
