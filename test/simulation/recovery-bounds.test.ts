import { describe, expect, it } from 'vitest';
import type { LivenessPolicy } from '../../machines/vocabulary.ts';
import type { RunRecord, StartRun } from '../../src/handle.ts';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';
import type { RunWorldOptions, SimulatedRun } from '../support/run-world.ts';

/** What comes back with the next process, how often, how many at a time, and what does not. */

const AGENT: RunWorldOptions = { tools: ['safe', 'danger'], requireApproval: ['danger'] };
const LATER_MS = JOURNAL_LIMITS.leaseTtlMs;

const under = (policy: LivenessPolicy): Partial<StartRun> => ({ liveness: { policy, graceMs: 0 } });

async function recordsOf(host: Host): Promise<RunRecord[]> {
  const stored = await host.store.listRecords({ limit: 1_000 });
  return stored.map(({ record }) => JSON.parse(record) as RunRecord).toReversed();
}

async function settle(process: HostProcess): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await process.clock.settle();
}

describe('a run that takes its process with it each time', () => {
  it.each(['continue', 'park'] as const)(
    'comes back three times under %s, and no more',
    async (policy) => {
      const host = new Host();
      let process = await host.boot({ ...AGENT, recover: 'resume' });
      await process.start({ ...under(policy), sessionId: 'one' });
      for (let death = 1; death <= 6; death += 1) {
        process.model.turns.at(-1)?.say('boom');
        await process.clock.settle();
        process.kill();
        process = await host.boot({ ...AGENT, recover: 'resume' }, { afterMs: death * LATER_MS });
        await settle(process);
      }
      const records = await recordsOf(host);
      expect(records.map(({ state }) => state)).toEqual(['parked', 'parked', 'parked', 'failed']);
      expect(records.at(-1)?.end?.error?.code).toBe('owner_lost');
      expect(process.model.turns).toEqual([]);
      expect(process.clock.pending).toEqual([]);
      await host.expectSound();
    },
  );

  it('is counted over resumes by request, too', async () => {
    const host = new Host();
    let process = await host.boot({ ...AGENT, recover: 'resume' });
    let run = await process.start({ ...under('continue'), sessionId: 'one' });
    for (let death = 1; death <= 3; death += 1) {
      process.kill();
      process = await host.boot({ ...AGENT, recover: 'resume' }, { afterMs: death * LATER_MS });
      await settle(process);
      const [id = ''] = (await process.supervisor.getSession('one'))?.live ?? [];
      run = process.run(id, 'one');
      await run.park();
      process.model.turn.call('safe').finish('tool_calls');
      await run.event('parked');
      await process.clock.settle();
      run = await process.resume(run);
    }
    process.kill();
    process = await host.boot({ ...AGENT, recover: 'resume' }, { afterMs: 4 * LATER_MS });
    await settle(process);
    expect((await recordsOf(host)).at(-1)).toMatchObject({ run_id: run.runId, state: 'failed' });
    await host.expectSound();
  });
});

/** Parked for want of a reader, behind a turn that asked for a tool. */
async function parkedUnclaimed(process: HostProcess, sessionId: string): Promise<SimulatedRun> {
  const run = await process.start({ ...under('park'), sessionId });
  await run.release();
  process.model.turn.call('safe', {}, 's').finish('tool_calls');
  await process.clock.settle();
  await run.event('parked');
  return run;
}

describe('a process that starts', () => {
  it.each([1, 3])('brings parked runs back, %i at a time', async (resumeConcurrency) => {
    const host = new Host();
    const first = await host.boot(AGENT);
    for (let at = 0; at < 7; at += 1) await parkedUnclaimed(first, `session-${at}`);
    const second = await host.boot({ ...AGENT, resumeOnStart: true, resumeConcurrency });
    let most = 0;
    for (let done = 0; done < 7; ) {
      await settle(second);
      const { data } = await second.supervisor.listRuns({ limit: 100, state: 'running' });
      most = Math.max(most, data.length);
      expect(data.length).toBe(Math.min(resumeConcurrency, 7 - done));
      for (const execution of second.tools.executions) execution.answer('42');
      await settle(second);
      second.model.turns[done]?.finish();
      done += 1;
    }
    await settle(second);
    expect(most).toBe(resumeConcurrency);
    expect(second.model.turns).toHaveLength(7);
    const states = (await recordsOf(host)).map(({ state }) => state);
    expect(states.filter((state) => state === 'finished')).toHaveLength(7);
    expect(second.clock.pending).toEqual([]);
    await host.expectSound();
  });

  it('leaves those alone that were parked by hand or that wait for a person', async () => {
    const host = new Host();
    const first = await host.boot(AGENT);
    const byHand = await first.start({ ...under('park'), sessionId: 'by-hand' });
    await byHand.park();
    first.model.turn.call('safe').finish('tool_calls');
    await byHand.event('parked');
    const waits = await first.start({ ...under('park'), sessionId: 'waits' });
    first.model.turn.call('danger', {}, 'd').finish('tool_calls');
    await first.clock.settle();
    await waits.release();
    await parkedUnclaimed(first, 'comes-back');
    const second = await host.boot({ ...AGENT, resumeOnStart: true });
    await settle(second);
    expect((await recordsOf(host)).map(({ session_id, state }) => [session_id, state])).toEqual([
      ['by-hand', 'parked'],
      ['waits', 'parked'],
      ['comes-back', 'parked'],
      ['comes-back', 'running'],
    ]);
    await second.playOn();
    await host.expectSound();
  });

  it('does not bring them back unless it is told to', async () => {
    const host = new Host();
    const first = await host.boot(AGENT);
    const run = await parkedUnclaimed(first, 'one');
    const second = await host.boot({ ...AGENT, recover: 'resume' });
    await settle(second);
    expect(await second.supervisor.record(run.runId)).toMatchObject({
      state: 'parked',
      continued_by: null,
    });
  });

  it('brings back what was decided before the process before it could go on', async () => {
    const host = new Host();
    const first = await host.boot(AGENT);
    const run = await first.start({ ...under('park'), sessionId: 'one' });
    first.model.turn.call('danger', {}, 'a').call('danger', {}, 'b').finish('tool_calls');
    await first.clock.settle();
    const ids = (await run.record()).approvals;
    await run.release();
    first.kill();
    const now = first.clock.now();
    await host.store.decideApproval(ids[0] ?? '', '{"kind":"approved"}', now);
    const between = await host.boot(AGENT);
    await settle(between);
    expect(between.tools.executions).toEqual([]);
    await host.store.decideApproval(ids[1] ?? '', '{"kind":"denied"}', now);
    const second = await host.boot(AGENT);
    await settle(second);
    expect(second.tools.executions).toHaveLength(1);
    await second.playOn();
    await host.expectSound();
    expect(second.tools.executions).toHaveLength(1);
  });

  it('finishes what a recovery began that was itself cut off, whenever that was', async () => {
    for (let turns = 0; turns <= 12; turns += 1) {
      const host = new Host();
      const options = { ...AGENT, recover: 'resume' } as const;
      const first = await host.boot(options);
      await first.start({ ...under('continue'), sessionId: 'one' });
      first.kill();
      const between = await host.boot(options, { afterMs: LATER_MS, turns });
      between.kill();
      const second = await host.boot(options, { afterMs: 2 * LATER_MS });
      await settle(second);
      await second.playOn();
      const records = await recordsOf(host);
      expect(records.at(-1)?.state, `${turns} turns`).toBe('finished');
      expect(records.length, `${turns} turns`).toBeLessThanOrEqual(3);
      expect(second.model.turns, `${turns} turns`).toHaveLength(1);
      await host.expectSound();
    }
  });
});

describe('a stop that was stored', () => {
  it('is kept although nobody was left to be told of it (INV-04, H-3)', async () => {
    const host = new Host();
    const options = { ...AGENT, recover: 'resume' } as const;
    const first = await host.boot(options);
    const run = await first.start({ ...under('continue'), sessionId: 'one' });
    const { putRecord } = host.store;
    host.store.putRecord = (record, lease) => {
      const stored = putRecord.call(host.store, record, lease);
      first.kill();
      return stored;
    };
    void first.supervisor.cancel(run.runId, {}).catch(() => {});
    await settle(first);
    host.store.putRecord = putRecord;
    const second = await host.boot(options, { afterMs: LATER_MS });
    await settle(second);
    expect(await second.supervisor.record(run.runId)).toMatchObject({
      state: 'cancelled',
      end: { reason: 'external' },
    });
    expect(second.model.turns).toEqual([]);
    await host.expectSound();
  });
});

describe('two processes and one run', () => {
  it('the one that slept through its lease writes nothing over the next one (INV-45, INV-56, INV-58)', async () => {
    const host = new Host();
    const options = { ...AGENT, recover: 'resume' } as const;
    const first = await host.boot(options);
    const run = await first.start({ ...under('continue'), sessionId: 'one' });
    first.model.turn.say('half');
    await first.clock.settle();
    const second = await host.boot(options, { afterMs: LATER_MS });
    await settle(second);
    const taken = await host.entries('one');
    expect(taken.map(({ payload }) => payload.event.type)).toContain('parked');
    const lost: string[] = [];
    first.supervisor.onLost(run.runId, () => lost.push(run.runId));
    first.model.turn.say(' and half').finish();
    // Not so long that the next one's lease has expired for it.
    await first.clock.advance(LATER_MS - 1);
    expect((await host.entries('one')).slice(0, taken.length)).toEqual(taken);
    expect(lost).toEqual([run.runId]);
    await second.playOn();
    expect((await recordsOf(host)).map(({ state }) => state)).toEqual(['parked', 'finished']);
    await first.clock.advance(2 * LATER_MS); // It looks again for whom the other one had.
    expect(first.clock.pending).toEqual([]);
    expect(second.clock.pending).toEqual([]);
    await host.expectSound();
  });

  it('that both find a lost one settle it once and bring it back once (INV-45)', async () => {
    const host = new Host();
    const options = { ...AGENT, recover: 'resume' } as const;
    const first = await host.boot(options);
    await first.start({ ...under('continue'), sessionId: 'one' });
    first.kill();
    const finders = await Promise.all(
      Array.from({ length: 4 }, () => host.boot(options, { afterMs: LATER_MS })),
    );
    for (const finder of finders) await settle(finder);
    for (const finder of finders) await finder.playOn();
    expect((await recordsOf(host)).map(({ state }) => state)).toEqual(['parked', 'finished']);
    expect(finders.flatMap(({ model }) => model.turns)).toHaveLength(1);
    await host.expectSound();
  });

  it('one that lost its run at a shutdown leaves the end to the next one', async () => {
    const host = new Host();
    const first = await host.boot({ ...AGENT, graceMs: 0 });
    const run = await first.start({ ...under('park'), sessionId: 'one' });
    first.kill();
    first.supervisor.shutdown('SIGTERM');
    await first.clock.advance(30_000);
    await first.supervisor.stopped;
    const second = await host.boot(AGENT, { afterMs: LATER_MS });
    await settle(second);
    expect(await second.supervisor.record(run.runId)).toMatchObject({ state: 'failed' });
    expect(first.clock.pending).toEqual([]);
    await host.expectSound();
  });
});
