import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { LOOK_EVERY_MS } from '../../src/other-processes.ts';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { Host } from '../support/recovery-host.ts';
import type { SimulatedRun } from '../support/run-world.ts';

/**
 * A process is gone and its runs are not: the next one gives each of them its end. Nobody settles
 * what another process still has.
 */

const directory = mkdtempSync(join(tmpdir(), 'runwarden-recovery-'));
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
const stores = {
  memory: () => createMemoryStore(),
  sqlite: () => {
    files += 1;
    return openSqliteStore({ path: join(directory, `${files}.db`) });
  },
};

const { leaseTtlMs } = JOURNAL_LIMITS;
const EXPIRED = { afterMs: leaseTtlMs };
const AGENT = { tools: ['work', 'danger'], requireApproval: ['danger'] };
const NO_LIMITS = { firstChunkMs: 0, stepMs: 0, totalMs: 0 };
const SETTLED = 'A lost run has been settled';
const SUMMARY = 'Runs without an owner';

/** The run as the next process has it. */
async function ended(host: Host, run: SimulatedRun) {
  const entries = (await host.entries(run.sessionId)).filter(({ run_id }) => run_id === run.runId);
  const record = await host.store.getRecord(run.runId);
  const events = entries.map(({ payload }) => payload.event);
  return { entries, events, record: JSON.parse(record?.record ?? '{}') as Record<string, unknown> };
}

describe.each(['memory', 'sqlite'] as const)('after a crash, with the %s store', (kind) => {
  it('a run that was speaking ends as lost, with what was said (INV-57)', async () => {
    const host = new Host(stores[kind]());
    const first = await host.boot();
    const run = await first.start();
    first.model.turn.say('half ').say('an answer');
    await first.clock.settle();
    first.kill();
    const second = await host.boot({}, EXPIRED);
    const { entries, events, record } = await ended(host, run);
    expect(events.map(({ type }) => type)).toEqual([
      'started',
      'observer_attached',
      'session_info',
      'text_delta',
      'text_delta',
      'failed',
    ]);
    expect(entries.at(-1)?.payload).toEqual({
      kind: 'lifecycle',
      event: {
        type: 'failed',
        error: {
          code: 'owner_lost',
          message: expect.stringContaining('process'),
          retryable: true,
        },
        prompt_tokens: 0,
        completion_tokens: 0,
        total_tokens: 0,
        end: {
          by: 'supervisor',
          at: second.clock.now(),
          after_ms: leaseTtlMs,
          evidence: [entries.at(-2)?.seq],
        },
      },
    });
    expect(record).toMatchObject({
      state: 'failed',
      ended_at: second.clock.now(),
      claims: [],
      verbs: ['attach'],
      first_seq: 1,
      last_seq: 6,
      end: { by: 'supervisor', error: { code: 'owner_lost' } },
    });
    expect(await second.supervisor.record(run.runId)).toEqual(record);
    await host.expectSound();
  });

  it('a new run of its session goes on behind it', async () => {
    const host = new Host(stores[kind]());
    const first = await host.boot();
    const run = await first.start({ sessionId: 'one' });
    first.kill();
    const second = await host.boot({}, EXPIRED);
    const next = await second.start({ sessionId: 'one' });
    second.model.turn.say('again').finish();
    await next.event('finished');
    await host.expectSound();
    expect((await ended(host, run)).record['last_seq']).toBe((await next.record()).first_seq - 1);
    const looksForOthers = ({ delayMs }: { delayMs: number }) => delayMs === LOOK_EVERY_MS;
    expect(second.clock.pending.filter((timer) => !looksForOthers(timer))).toEqual([]);
  });

  it('calls and approvals that were open are closed, and say what is not known (INV-37)', async () => {
    const host = new Host(stores[kind]());
    const first = await host.boot(AGENT);
    const run = await first.start();
    first.model.turn.call('work', {}, 'a').call('work', {}, 'b').call('danger', {}, 'c');
    first.model.turn.finish('tool_calls');
    await first.clock.settle();
    first.tools.executions[0]?.answer('done');
    await first.clock.settle();
    const [waiting] = (await run.record()).approvals;
    first.kill();
    const second = await host.boot(AGENT, EXPIRED);
    const { events, record } = await ended(host, run);
    expect(events.filter(({ type }) => type === 'tool_complete')).toEqual([
      expect.objectContaining({ tool_id: 'a', success: true, result: 'done' }),
      expect.objectContaining({ tool_id: 'b', success: false, effect: 'unknown' }),
      expect.objectContaining({ tool_id: 'c', success: false, approval: 'cancelled' }),
    ]);
    expect(events.find(({ type }) => type === 'approval_completed')).toMatchObject({
      decision_id: waiting,
      outcome: { kind: 'cancelled', reason: 'owner_lost' },
    });
    expect(record['approvals']).toEqual([]);
    expect(await second.supervisor.decide(String(waiting), { approved: true })).toBe('unknown');
    expect(second.tools.executions).toEqual([]);
    await host.expectSound();
  });

  it('runs of one session each have what is their own', async () => {
    const host = new Host(stores[kind]());
    const first = await host.boot(AGENT);
    const runs: SimulatedRun[] = [];
    for (const id of ['a', 'b', 'c']) {
      runs.push(await first.start({ sessionId: 'one' }));
      first.model.turn.call('work', {}, id).finish('tool_calls');
      await first.clock.settle();
    }
    first.kill();
    await host.boot(AGENT, EXPIRED);
    for (const [at, id] of ['a', 'b', 'c'].entries()) {
      const { entries, events, record } = await ended(host, runs[at] as SimulatedRun);
      expect(events.filter(({ type }) => type === 'tool_complete')).toMatchObject([
        { tool_id: id },
      ]);
      expect(record).toMatchObject({
        first_seq: entries[0]?.seq,
        last_seq: entries.at(-1)?.seq,
        end: {
          evidence: [entries.findLast(({ payload }) => payload.event.type === 'tool_start')?.seq],
        },
      });
    }
    await host.expectSound();
  });

  it('a run that was stopping keeps the cause in its evidence, and answers nothing twice', async () => {
    const host = new Host(stores[kind]());
    const first = await host.boot();
    first.model.deaf = true;
    const run = await first.start();
    first.model.turn.say('x');
    await first.clock.settle();
    first.supervisor.release(run.runId, 'reader');
    await first.clock.settle();
    first.kill();
    await host.boot({}, EXPIRED);
    const { entries, events, record } = await ended(host, run);
    const story = entries.filter(({ payload: { event } }) =>
      ['observer_detached', 'claims_exhausted', 'liveness_decided', 'stopping'].includes(
        event.type,
      ),
    );
    expect(story).toHaveLength(4);
    expect(events.at(-1)).toMatchObject({
      type: 'failed',
      end: { evidence: expect.arrayContaining(story.map(({ seq }) => seq)) },
    });
    expect(record['obligations']).toEqual([
      { what: 'model', id: expect.any(String), state: 'abandoned' },
    ]);
    await host.expectSound();
  });

  it('the usage that had been told is told again, and no more', async () => {
    const host = new Host(stores[kind]());
    const first = await host.boot(AGENT);
    const run = await first.start();
    for (const tokens of [100, 200, 300]) {
      first.model.turn.call('work').finish('tool_calls', tokens);
      await first.clock.settle();
      first.tools.last('work').answer('done');
      await first.clock.settle();
    }
    first.kill();
    await host.boot(AGENT, EXPIRED);
    const { events, record } = await ended(host, run);
    // No entry tells of the first turn's usage; the record does, from the turn's end on.
    const usage = { prompt_tokens: 600, completion_tokens: 6, total_tokens: 606 };
    expect(events.at(-1)).toMatchObject(usage);
    expect(record['usage']).toEqual(usage);
    await host.expectSound();
  });

  it('a run that died in its setup has its end too', async () => {
    const host = new Host(stores[kind]());
    const hung = { acquire: () => new Promise<never>(() => {}) };
    const first = await host.boot({ source: hung });
    const run = await first.start();
    expect((await run.record()).state).toBe('preparing');
    first.kill();
    await host.boot({}, EXPIRED);
    expect((await ended(host, run)).events.map(({ type }) => type)).toEqual([
      'started',
      'observer_attached',
      'failed',
    ]);
    await host.expectSound();
  });

  it('many runs of many sessions end, each with one line in the log and one for all', async () => {
    const host = new Host(stores[kind]());
    const first = await host.boot();
    for (let at = 0; at < 230; at += 1) await first.start({ sessionId: `s${at % 40}` });
    first.kill();
    const second = await host.boot({}, EXPIRED);
    for (let turns = 0; turns < 200; turns += 1) await second.clock.settle();
    await host.expectSound();
    expect(second.messages(SETTLED)).toHaveLength(230);
    expect(second.messages(SUMMARY)).toMatchObject([{ settled: 230, held: 0, failed: 0 }]);
  });
});

describe('runs that somebody has', () => {
  it('are left to a process that lives, and to the one that looks', async () => {
    const host = new Host();
    const first = await host.boot({ limits: NO_LIMITS });
    const run = await first.start();
    const second = await host.boot({ limits: NO_LIMITS });
    const own = await second.start({ sessionId: 'own' });
    for (let beats = 0; beats < 40; beats += 1) {
      await first.clock.advance(leaseTtlMs / 3);
      await second.clock.advance(leaseTtlMs / 3);
    }
    expect((await ended(host, run)).record['state']).toBe('running');
    expect((await own.record()).state).toBe('running');
    expect(second.messages(SUMMARY)).toMatchObject([{ settled: 0, held: 1, failed: 0 }]);
    first.model.turn.say('at last').finish();
    await run.event('finished');
    second.model.turn.finish();
    await own.event('finished');
    expect(second.clock.pending).toEqual([]);
    await host.expectSound();
  });

  it('end when the lease of their dead owner has expired, not before', async () => {
    const host = new Host();
    const first = await host.boot();
    const run = await first.start();
    first.kill();
    const second = await host.boot({}, { afterMs: leaseTtlMs - 1 });
    expect((await ended(host, run)).record['state']).toBe('running');
    await second.clock.advance(1);
    expect((await ended(host, run)).record['state']).toBe('failed');
    expect(second.messages(SUMMARY)).toMatchObject([{ settled: 1, held: 0, failed: 0 }]);
    expect(second.clock.pending).toEqual([]);
  });

  it('are settled once when several processes look at the same time', async () => {
    const host = new Host();
    const first = await host.boot();
    const run = await first.start();
    first.kill();
    const others = await Promise.all([host.boot({}, EXPIRED), host.boot({}, EXPIRED)]);
    for (const other of others) await other.clock.advance(2 * leaseTtlMs);
    await host.expectSound();
    expect(others.flatMap((other) => other.messages(SETTLED))).toHaveLength(1);
    expect((await ended(host, run)).record['state']).toBe('failed');
  });

  it('are told of to whoever asks before they are settled', async () => {
    const host = new Host();
    const first = await host.boot();
    const run = await first.start();
    first.kill();
    const second = await host.boot();
    expect(await second.supervisor.record(run.runId)).toMatchObject({
      run_id: run.runId,
      state: 'running',
      first_seq: 1,
      ended_at: null,
      deadlines: [],
    });
  });
});

describe('the search for lost runs', () => {
  it('keeps nobody from shutting down', async () => {
    const host = new Host();
    const first = await host.boot();
    await first.start();
    first.kill();
    const second = await host.boot();
    expect(second.clock.pending).toHaveLength(1);
    second.supervisor.shutdown('SIGTERM');
    await second.clock.settle();
    expect(await second.supervisor.stopped).toMatchObject({ cleanShutdown: true });
    expect(second.clock.pending).toEqual([]);
    const third = await host.boot({}, EXPIRED);
    expect(third.messages(SETTLED)).toHaveLength(1);
  });

  it('is tried again when the store fails, and says so', async () => {
    const host = new Host();
    const first = await host.boot();
    const run = await first.start();
    first.kill();
    let down = true;
    const { listRecords } = host.store;
    host.store.listRecords = (query) => {
      if (down) throw new Error('the store is down');
      return listRecords.call(host.store, query);
    };
    const second = await host.boot({}, EXPIRED);
    expect(second.messages('Runs without an owner could not be listed')).toHaveLength(1);
    down = false;
    await second.clock.advance(5_000);
    expect((await ended(host, run)).record['state']).toBe('failed');
    expect(second.clock.pending).toEqual([]);
    await host.expectSound();
  });

  it('goes past a run whose record is damaged, and gives up on it', async () => {
    const host = new Host();
    const first = await host.boot();
    const run = await first.start();
    first.kill();
    await host.store.putRecord({ runId: '0', sessionId: 'other', record: 'x' }, undefined);
    const second = await host.boot({}, EXPIRED);
    expect((await ended(host, run)).record['state']).toBe('failed');
    await second.clock.advance(3_600_000);
    expect(second.messages(SUMMARY)).toMatchObject([{ settled: 1, held: 0, failed: 1 }]);
    expect(second.clock.pending).toEqual([]);
  });
});
