import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import {
  ASKS_FIRST,
  askedOf,
  begin,
  calls,
  callSteps,
  control,
  ECHO,
  ended,
  envelopes,
  eventsOf,
  gated,
  heard,
  lifecycle,
  post,
  recordOf,
  says,
  STALLED,
  story,
  typesOf,
  WAITS,
} from '../support/api-kit.ts';
import { readSessions } from '../support/system-store.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** The envelope, each row of the lifecycle table, and the section on stops. */

const start = systemWorlds();
const WEB: SystemOptions = { mcp: ['web'] };
/** A server that takes calls and cancellations and says nothing. */
const DEAF: SystemOptions['web'] = {
  intercept: ({ rpc }) => rpc === 'tools/call' || rpc === 'notifications/cancelled',
};
const USAGE = {
  prompt_tokens: expect.any(Number),
  completion_tokens: expect.any(Number),
  total_tokens: expect.any(Number),
};
const END = {
  by: expect.any(String),
  at: expect.any(Number),
  after_ms: expect.any(Number),
  evidence: expect.any(Array),
};

const only = <Type extends JournalEvent['type']>(events: readonly JournalEvent[], type: Type) =>
  events.filter((event) => event.type === type) as Extract<JournalEvent, { type: Type }>[];

/** A run whose answer stalls, or whose tool does, and that is cancelled then. */
async function cancelled(what: 'text' | 'tool') {
  const world = await start(WEB);
  world.answer(what === 'text' ? STALLED : calls(WAITS));
  const { run_id: runId } = await begin(world);
  const type = what === 'text' ? 'text_delta' : 'tool_progress';
  await heard(eventsOf(world, runId), (event) => event.type === type);
  await post(world, `/v1/runs/${runId}/cancel?wait=true`, { message: 'Enough.' }).answered;
  return { world, runId, events: await story(world, runId) };
}

describe('the envelope', () => {
  it('has a dense seq over all runs of a session, the time and the run', async () => {
    const world = await start();
    for (let n = 0; n < 3; n += 1) {
      world.answer(says('a', 'b'));
      await ended(world, (await begin(world)).run_id);
    }
    const stored = await world.server.handle.journal.read('s', 1, 1_000);
    const entries = stored.map(({ json }) => JSON.parse(json) as Record<string, unknown>);
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, at) => at + 1));
    for (const entry of entries) {
      expect(entry).toEqual({
        session_id: 's',
        run_id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-/),
        seq: expect.any(Number),
        at: expect.any(Number),
        payload: {
          kind: expect.stringMatching(/^(agent|lifecycle)$/),
          event: expect.objectContaining({ type: expect.any(String) }),
        },
      });
    }
  });

  it('is told in the same bytes as it is stored', async () => {
    const world = await start();
    world.answer(says('a "b"\n', '\u2028 €'));
    const { run_id: runId } = await begin(world);
    const reader = eventsOf(world, runId);
    await reader.all();
    const stored = await world.server.handle.journal.read('s', 1, 1_000);
    expect(reader.frames.map(({ data }) => data)).toEqual(stored.map(({ json }) => json));
    expect(reader.frames.map(({ id }) => Number(id))).toEqual(stored.map(({ seq }) => seq));
  });
});

describe('the lifecycle row', () => {
  it('started: agent, prompt, timeout_ms, liveness', async () => {
    const world = await start();
    world.answer(says('a'));
    const { run_id: runId } = await begin(world, { timeout_ms: 60_000 });
    await ended(world, runId);
    expect((await story(world, runId))[0]).toEqual({
      type: 'started',
      agent: 'agent',
      prompt: 'Go',
      timeout_ms: 60_000,
      liveness: { policy: 'continue', grace_ms: 0 },
    });
  });

  it('started: continues, of a run that was resumed', async () => {
    const { world, runId } = await parkedRun();
    world.answer(says('Then.'));
    const next = String((await control(world, runId, 'resume').json())['run_id']);
    await ended(world, next);
    expect((await story(world, next))[0]).toMatchObject({ type: 'started', continues: runId });
  });

  it('observer_attached and observer_detached: the observer, and because', async () => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer);
    const { run_id: runId } = await begin(world);
    const reader = eventsOf(world, runId);
    const holder = eventsOf(world, runId, '?claim=true');
    await heard(reader, ({ type }) => type === 'observer_attached');
    await holder.leave();
    await heard(reader, ({ type }) => type === 'observer_detached');
    go();
    await reader.all();
    const events = envelopes(reader).map(({ payload }) => payload.event);
    const [attached] = only(events, 'observer_attached');
    const observer = { id: expect.any(String), kind: 'claiming', presence: expect.any(Boolean) };
    expect(attached).toEqual({ type: 'observer_attached', observer });
    expect(only(events, 'observer_detached')).toEqual([
      { type: 'observer_detached', observer: attached?.observer, because: 'released' },
    ]);
    expect(only(events, 'claims_exhausted')).toEqual([{ type: 'claims_exhausted', grace_ms: 0 }]);
    expect(only(events, 'liveness_decided')).toEqual([
      { type: 'liveness_decided', policy: 'continue' },
    ]);
  });

  it('no entry for a collecting observer, who is counted in the record alone (decision 20)', async () => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer);
    const { run_id: runId } = await begin(world);
    const readers = [1, 2, 3].map(() => eventsOf(world, runId));
    for (const each of readers) await heard(each, ({ type }) => type === 'text_delta');
    expect((await recordOf(world, runId)).observers).toBe(3);
    go();
    await Promise.all(readers.map((each) => each.all()));
    expect(await lifecycle(world, runId)).toEqual(['started', 'finished']);
  });

  it('stopping: cause and obligations; each obligation asked, then confirmed (decision 19)', async () => {
    const { events } = await cancelled('tool');
    const at = events.findIndex(({ type }) => type === 'stopping');
    expect(events[at]).toEqual({ type: 'stopping', cause: 'external', obligations: 2 });
    const obligations = only(events, 'obligation');
    expect(obligations.filter(({ state }) => state === 'asked')).toHaveLength(2);
    expect(obligations.filter(({ state }) => state === 'confirmed')).toHaveLength(2);
    for (const each of obligations) {
      expect(each).toEqual({
        type: 'obligation',
        what: expect.stringMatching(/^(model|tool|mcp|approval|run)$/),
        id: 'call_1',
        state: expect.any(String),
        waited_ms: expect.any(Number),
      });
    }
    expect(events.indexOf(obligations[0] as JournalEvent)).toBeGreaterThan(at);
  });

  it('stopping: error for a failure, deadline with which (decisions 19, 42)', async () => {
    const toml = '[runtime.timeouts]\nstep_secs = 0.3\nstep_allowance_secs = 0';
    const world = await start({ ...WEB, toml });
    world.answer(calls(WAITS));
    const { run_id: runId } = await begin(world);
    await ended(world, runId);
    const events = await story(world, runId);
    expect(only(events, 'stopping')).toMatchObject([{ cause: 'deadline', which: 'step' }]);
    expect(only(events, 'cancelled')).toEqual([
      {
        type: 'cancelled',
        reason: 'deadline',
        which: 'step',
        after_ms: expect.any(Number),
        ...USAGE,
        end: { ...END, by: 'deadline' },
      },
    ]);
  });

  it('obligation: abandoned, of a tool that ignores its stop, whose effect is unknown', async () => {
    const toml = '[runtime.timeouts]\ntool_stop_grace_secs = 0.2';
    const world = await start({
      ...WEB,
      toml,
      web: DEAF,
    });
    world.answer(calls(ECHO));
    const { run_id: runId } = await begin(world);
    await heard(eventsOf(world, runId), ({ type }) => type === 'tool_requested');
    await world.web.until(() => world.web.seen.some(({ rpc }) => rpc === 'tools/call'));
    await control(world, runId, 'cancel').answered;
    expect(await ended(world, runId)).toMatchObject({ end: { reason: 'external' } });
    const events = await story(world, runId);
    const states = only(events, 'obligation').map(({ what, state }) => `${what} ${state}`);
    expect(states).toEqual(['tool asked', 'mcp asked', 'mcp abandoned', 'tool abandoned']);
    expect(only(events, 'tool_complete')).toMatchObject([
      { success: false, effect: 'unknown', error: expect.stringContaining('may have happened') },
    ]);
  });

  it('parked: checkpoint, usage, end', async () => {
    const { world, runId } = await parkedRun();
    expect((await story(world, runId)).at(-1)).toEqual({
      type: 'parked',
      checkpoint: expect.any(String),
      reason: 'external',
      ...USAGE,
      end: { ...END, by: 'operator' },
    });
  });

  it('finished: usage, end', async () => {
    const world = await start();
    world.answer(says('a'));
    const { run_id: runId } = await begin(world);
    await ended(world, runId);
    expect((await story(world, runId)).at(-1)).toEqual({
      type: 'finished',
      finish_reason: 'stop',
      ...USAGE,
      end: { ...END, by: 'agent', evidence: [] },
    });
  });

  it('cancelled: reason, message, usage, end with the entries that led to it', async () => {
    const { runId, world, events } = await cancelled('text');
    const last = events.at(-1);
    expect(last).toEqual({
      type: 'cancelled',
      reason: 'external',
      message: 'Enough.',
      ...USAGE,
      end: { ...END, by: 'operator' },
    });
    const reader = eventsOf(world, runId);
    await reader.all();
    const stopping = envelopes(reader).find(({ payload }) => payload.event.type === 'stopping');
    expect((last as Extract<JournalEvent, { type: 'cancelled' }>).end.evidence).toContain(
      stopping?.seq,
    );
  });

  it('failed: error with code, message and retryable, usage, end', async () => {
    const world = await start();
    const body = { error: { message: 'No.', type: 'x', code: null } };
    world.answer({ status: 400, body });
    const { run_id: runId } = await begin(world);
    await ended(world, runId);
    expect((await story(world, runId)).at(-1)).toEqual({
      type: 'failed',
      error: { code: 'provider_error', message: expect.any(String), retryable: false },
      ...USAGE,
      end: { ...END, by: 'provider' },
    });
  });

  it('exactly one terminal event, the last entry of its run', async () => {
    for (const what of ['text', 'tool'] as const) {
      const { events } = await cancelled(what);
      const terminal = events.filter((event) => 'end' in event);
      expect(terminal).toEqual([events.at(-1)]);
    }
  });
});

describe('a stop', () => {
  it('of one run touches no other, not even of its session', async () => {
    const world = await start(WEB);
    const { answer, go } = gated('a');
    world.answer(answer);
    const stays = await begin(world);
    await heard(eventsOf(world, stays.run_id), ({ type }) => type === 'text_delta');
    world.answer(STALLED);
    const goes = await begin(world, { on_busy: 'parallel' });
    await heard(eventsOf(world, goes.run_id), ({ type }) => type === 'text_delta');
    await control(world, goes.run_id, 'cancel').answered;
    await ended(world, goes.run_id);
    go();
    expect(await ended(world, stays.run_id)).toMatchObject({ state: 'finished' });
  });

  it('that follows another is a note: the first cause wins', async () => {
    const toml = '[runtime.timeouts]\ntool_stop_grace_secs = 0.5';
    const world = await start({
      ...WEB,
      toml,
      web: DEAF,
    });
    world.answer(calls(ECHO));
    const { run_id: runId } = await begin(world);
    await world.web.until(() => world.web.seen.some(({ rpc }) => rpc === 'tools/call'));
    world.answer(says('Instead.'));
    const newer = await begin(world, { on_busy: 'interrupt' });
    await control(world, runId, 'cancel').answered;
    expect(await ended(world, runId)).toMatchObject({ end: { reason: 'superseded' } });
    await ended(world, newer.run_id);
  });

  it('is in the store before it is answered, while the run still winds down', async () => {
    const world = await start({
      ...WEB,
      toml: '[runtime.timeouts]\ntool_stop_grace_secs = 1',
      web: DEAF,
    });
    world.answer(calls(ECHO));
    const { run_id: runId } = await begin(world);
    await world.web.until(() => world.web.seen.some(({ rpc }) => rpc === 'tools/call'));
    expect(await control(world, runId, 'cancel').json()).toMatchObject({ state: 'stopping' });
    const [session] = await readSessions(world.dataDir, 's');
    expect(session?.records).toMatchObject([{ run_id: runId, state: 'stopping' }]);
    await ended(world, runId);
  });

  it('closes the calls with the true cause, keeps the text, and starts nothing more (wind-down)', async () => {
    const world = await start({ ...WEB, toml: `[runtime]\nmax_parallel_tools = 1\n${ASKS_FIRST}` });
    const second = { id: 'call_2', name: 'headers' };
    const steps = callSteps(WAITS, second);
    const { answer, go } = gated('Let me see.', steps);
    world.answer(answer);
    const { run_id: runId } = await begin(world);
    const reader = eventsOf(world, runId);
    go();
    await heard(reader, ({ type }) => type === 'tool_progress');
    await control(world, runId, 'cancel').answered;
    await reader.all();
    const events = envelopes(reader).map(({ payload }) => payload.event);
    const closed = only(events, 'tool_complete');
    expect(closed.map(({ tool_id: id }) => id).toSorted()).toEqual(['call_1', 'call_2']);
    for (const each of closed) {
      expect(each).toMatchObject({ success: false, error: expect.stringMatching(/cancelled/i) });
    }
    expect(only(events, 'tool_start').map(({ tool_id: id }) => id)).toEqual(['call_1']);
    expect(world.upstream.requests).toHaveLength(1);
    expect(typesOf(events).at(-1)).toBe('cancelled');
  });

  it('invalidates what a person was asked', async () => {
    const world = await start({ ...WEB, toml: ASKS_FIRST });
    world.answer(calls(ECHO));
    const { run_id: runId } = await begin(world);
    const reader = eventsOf(world, runId);
    const id = await askedOf(reader);
    await control(world, runId, 'cancel').answered;
    await reader.all();
    const events = envelopes(reader).map(({ payload }) => payload.event);
    expect(only(events, 'approval_completed')).toMatchObject([
      { decision_id: id, outcome: { kind: 'cancelled', reason: 'external' } },
    ]);
    expect(await inbox(world)).toEqual([]);
  });
});

const inbox = async (world: SystemWorld) =>
  (await world.ask('/v1/approvals?state=pending').json())['data'];

/** A run that was parked by hand before its tool. */
async function parkedRun() {
  const world = await start(WEB);
  const { answer, go } = gated('Let me see.', callSteps(ECHO));
  world.answer(answer);
  const { run_id: runId } = await begin(world);
  await heard(eventsOf(world, runId), ({ type }) => type === 'text_delta');
  await control(world, runId, 'park').answered;
  go();
  await ended(world, runId);
  return { world, runId };
}
