import { describe, expect, it } from 'vitest';
import { ModelError } from '../../src/model.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { type Store, StoreError } from '../../src/stores/store.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';

/** A store that takes no writes for a while: who asks is told, and what it missed it gets later. */

const FULL = new StoreError('The database /secret/place: the disk is full.', {
  reason: 'the disk is full.',
});

type Write = 'append' | 'acquire';

/** A process on a store that refuses some writes from `full` on until `makeRoom`. */
async function world(...also: readonly Write[]) {
  const store = createMemoryStore();
  const host = new Host(store);
  const process = await host.boot({ graceMs: 0 });
  const kept: Partial<Store> = {};
  const full = () => {
    for (const name of ['append', ...also] as const) {
      kept[name] = store[name] as never;
      store[name] = () => {
        throw FULL;
      };
    }
  };
  const makeRoom = () => Object.assign(store, kept);
  return { host, process, store, full, makeRoom };
}

const hour = (process: HostProcess) => process.clock.advance(3_600_000);

describe('a store that refuses writes', () => {
  it('is not called healthy, until it takes one', async () => {
    const { process, full, makeRoom } = await world();
    const ok = { status: 'healthy', store: { backend: 'memory', ping: { ok: true } } };
    expect(await process.supervisor.health()).toMatchObject(ok);
    const run = await process.start();
    full();
    process.model.turn.say('lost');
    await process.clock.advance(60_000);
    expect(await process.supervisor.health()).toEqual({
      status: 'degraded',
      store: {
        backend: 'memory',
        ping: { ok: false, error: 'the last write was refused: the disk is full.' },
      },
    });
    makeRoom();
    await hour(process);
    expect((await run.types()).at(-1)).toBe('failed');
    expect(await process.supervisor.health()).toMatchObject(ok);
    expect(process.messages('The store refuses writes')).toHaveLength(1);
    expect(process.messages('The store takes writes again')).toHaveLength(1);
  });

  it('gets the ends it missed with the first write that it takes, however late that is', async () => {
    const { host, process, full, makeRoom } = await world();
    const run = await process.start();
    full();
    process.model.turn.finish();
    await hour(process);
    expect(process.clock.pending).toEqual([]);
    makeRoom();
    await process.start();
    process.model.turn.finish();
    await process.clock.settle();
    expect(await run.event('failed')).toMatchObject({ error: { code: 'store_unavailable' } });
    expect(process.messages('A lost run has been settled')).toHaveLength(1);
    await host.expectSound();
  });

  it('is not asked over and over about a run of which it has nothing', async () => {
    const { process, store, full, makeRoom } = await world();
    full();
    await expect(process.start()).rejects.toMatchObject({ code: 'store_unavailable' });
    await process.clock.advance(20_000);
    makeRoom();
    await process.clock.advance(10_000);
    expect(await store.listRecords({ limit: 10 })).toEqual([]);
    expect(process.clock.pending).toEqual([]);
  });

  it('says in the log at each try why the end could not be stored', async () => {
    const { process, full } = await world('acquire');
    await process.start();
    full();
    process.model.turn.finish();
    await process.clock.advance(20_000);
    const tries = process.messages('The end could not be stored');
    expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    for (const { err } of tries) expect(JSON.stringify(err)).toContain('the disk is full');
  });
});

describe('a model call that fails', () => {
  it('is logged with what stands behind it, and the end names the last entry before it', async () => {
    const host = new Host();
    const process = await host.boot();
    const run = await process.start();
    const { lastSeq } = await lastOf(process, run.sessionId);
    const failure = { code: 'provider_error', message: 'It is broken.', retryable: false };
    const cause = new Error('upstream says: no such model');
    process.model.turn.fail(new ModelError({ ...failure, status: 404 }, { cause }));
    const { end, error } = await run.event('failed');
    expect(error.message).toBe('It is broken.');
    expect(end.evidence).toEqual([lastSeq]);
    expect(process.messages('A model call failed')).toMatchObject([
      {
        level: 'warn',
        run_id: run.runId,
        model: 'manual/test',
        code: 'provider_error',
        status: 404,
        retryable: false,
        reason: 'It is broken.',
        upstream: 'upstream says: no such model',
      },
    ]);
  });
});

async function lastOf(process: HostProcess, sessionId: string) {
  return { lastSeq: (await process.journal(sessionId)).at(-1)?.seq };
}
