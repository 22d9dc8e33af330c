import { describe, expect, it } from 'vitest';
import { LeaseLostError, SessionHeldError } from '../../src/journal/errors.ts';
import { JOURNAL_LIMITS, journalLimits } from '../../src/journal/limits.ts';
import type { Store } from '../../src/stores/store.ts';
import { finished, journalWorld, microtasks, NOW, trickyStore } from './journal-kit.ts';

const { leaseTtlMs, leaseBeatMs } = JOURNAL_LIMITS;

const taking = (owner: string, now: number, key = 's') => ({ key, owner, now, ttlMs: leaseTtlMs });

describe('journal: leases', () => {
  it('takes one lease for all runs of a session and gives it back with the last', async () => {
    const { journal, store } = journalWorld();
    const a = await journal.openRun('s', 'a');
    const b = await journal.openRun('s', 'b');

    await a.release();
    await a.release();
    expect(store.acquire(taking('other', NOW))).toMatchObject({ acquired: false });
    expect(b.text('still')).toBe(1);

    await b.release();
    expect(store.acquire(taking('other', NOW))).toMatchObject({ acquired: true });
  });

  it('asks nothing of its store for a run that lets go after the close', async () => {
    const { journal, store } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const released: number[] = [];
    const { release } = store;
    store.release = (leases) => {
      released.push(leases.length);
      return release.call(store, leases);
    };
    await journal.close();
    await run.release();
    expect(released).toEqual([1]);
    expect(store.acquire(taking('other', NOW))).toMatchObject({ acquired: true });
  });

  it('opens runs of one session at the same time with one lease', async () => {
    const { journal, store } = journalWorld();
    const runs = await Promise.all(['a', 'b', 'c'].map((id) => journal.openRun('s', id)));

    expect(runs.map((run) => run.text('x'))).toEqual([1, 2, 3]);
    const [lease] = [store.acquire(taking('me', NOW))];
    expect(lease).toMatchObject({ lease: { generation: 2 } });
  });

  it('writes what is queued before it gives the lease back', async () => {
    const { journal, store } = journalWorld();
    const run = await journal.openRun('s', 'r');
    run.text('x');

    await run.release();

    expect(store.head('s')).toBe(1);
  });

  it('takes nothing from a run that has let go', async () => {
    const { journal, store } = journalWorld();
    const run = await journal.openRun('s', 'r');
    await journal.openRun('s', 'other');
    await run.release();

    expect(run.text('late')).toBe(0);
    await expect(run.settle(finished)).rejects.toThrow(/released/);
    await journal.drain();
    expect(store.head('s')).toBe(0);
  });

  it('lets a session be opened again while it is being given back (INV-52)', async () => {
    const { journal, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    run.text('1');
    const released = run.release();
    const again = await journal.openRun('s', 'again');
    await released;

    expect(again.text('2')).toBe(2);
    await turns.all();
    await expect(again.flushed()).resolves.toBeUndefined();
  });

  it('refuses a run whose session another process holds', async () => {
    const first = journalWorld();
    await first.journal.openRun('s', 'r');
    const second = journalWorld({ store: first.store, ownerId: 'other' });

    const opening = second.journal.openRun('s', 'r2');

    await expect(opening).rejects.toThrow(SessionHeldError);
    await expect(opening).rejects.toMatchObject({ expiresAt: NOW + leaseTtlMs });
  });

  it('renews all leases in one call at every beat while runs are open', async () => {
    const { journal, store, clock } = journalWorld();
    const calls: number[] = [];
    const { renew } = store;
    store.renew = (...args: Parameters<Store['renew']>) => {
      calls.push(args[0].length);
      return renew(...args);
    };
    const a = await journal.openRun('a', 'r');
    const b = await journal.openRun('b', 'r');
    await clock.advance(2 * leaseBeatMs);
    expect(calls).toEqual([2, 2]);

    await a.release();
    await clock.advance(leaseBeatMs);
    expect(calls).toEqual([2, 2, 1]);

    await b.release();
    expect(clock.pending).toEqual([]);
  });

  it('renews no more leases at a time than its limit', async () => {
    const { journal, store, clock } = journalWorld({ limits: { renewalsMax: 2 } });
    const calls: number[] = [];
    const { renew } = store;
    store.renew = (...args: Parameters<Store['renew']>) => {
      calls.push(args[0].length);
      return renew(...args);
    };
    for (const id of ['a', 'b', 'c']) await journal.openRun(id, 'r');

    await clock.advance(leaseBeatMs);

    expect(calls).toEqual([2, 1]);
  });

  it('holds the lease for as long as a run is open', async () => {
    const { journal, store, clock } = journalWorld();
    await journal.openRun('s', 'r');

    await clock.advance(10 * leaseTtlMs);

    expect(store.acquire(taking('other', clock.now()))).toMatchObject({ acquired: false });
  });

  it('learns at the beat that the lease was taken, and tells the runs (INV-56)', async () => {
    const { journal, store, clock, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const heard: string[] = [];
    run.onLeaseLost(() => heard.push('lease'));
    run.onFailure((error) => heard.push(error.name));
    await store.acquire(taking('other', NOW + leaseTtlMs));

    await clock.advance(leaseBeatMs);

    expect(heard).toEqual(['lease', 'LeaseLostError']);
    expect(run.text('late')).toBe(0);
    await turns.all();
    expect(store.appends).toBe(0);
    await expect(run.flushed()).rejects.toThrow(LeaseLostError);
  });

  it('learns from a refused append that the lease was taken (INV-58)', async () => {
    const { journal, store, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const heard: string[] = [];
    run.onLeaseLost(() => heard.push('lease'));
    await store.acquire(taking('other', NOW + leaseTtlMs));
    run.text('x');

    await Promise.all([turns.all(), expect(run.flushed()).rejects.toThrow(LeaseLostError)]);

    expect(heard).toEqual(['lease']);
    expect(store.head('s')).toBe(0);
  });

  it('tells once when beat and append both learn of it', async () => {
    const { journal, store, clock, turns } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const heard: string[] = [];
    run.onLeaseLost(() => heard.push('lease'));
    store.held = true;
    run.text('x');
    await turns.all();
    await store.acquire(taking('other', NOW + leaseTtlMs));
    await clock.advance(leaseBeatMs);

    await store.answer();

    expect(heard).toEqual(['lease']);
    expect(store.head('s')).toBe(0);
  });

  it('does not tell of a lost lease when the store merely failed', async () => {
    const { journal, store, turns } = journalWorld();
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    const heard: string[] = [];
    run.onLeaseLost(() => heard.push('lease'));
    run.text('x');
    await turns.all();

    expect(heard).toEqual([]);
  });

  it('tells at once when the lease was lost before', async () => {
    const { journal, store, clock } = journalWorld();
    const run = await journal.openRun('s', 'r');
    await store.acquire(taking('other', NOW + leaseTtlMs));
    await clock.advance(leaseBeatMs);
    const heard: string[] = [];

    run.onLeaseLost(() => heard.push('lease'));

    expect(heard).toEqual(['lease']);
  });

  it('survives beats that fail, and gives up when the lease has expired (INV-55)', async () => {
    const { journal, store, clock } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const heard: number[] = [];
    run.onLeaseLost(() => heard.push(clock.now() - NOW));
    store.renew = () => {
      throw new Error('out of order');
    };
    await clock.advance(leaseTtlMs - 1);
    expect(heard).toEqual([]);

    await clock.advance(1);
    expect(heard).toEqual([leaseTtlMs]);
  });

  it('counts the life of a lease from the last beat that succeeded', async () => {
    const { journal, store, clock } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const heard: string[] = [];
    run.onLeaseLost(() => heard.push('lease'));
    await clock.advance(leaseBeatMs);
    store.renew = () => {
      throw new Error('out of order');
    };
    await clock.advance(leaseTtlMs - 1);
    expect(heard).toEqual([]);

    await clock.advance(1);
    expect(heard).toEqual(['lease']);
  });

  it('awaits a renewal under way before it gives the lease back (INV-50)', async () => {
    const { journal, store, clock } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const order: string[] = [];
    const { renew, release } = store;
    let answer = () => {};
    store.renew = (...args: Parameters<Store['renew']>) =>
      new Promise((resolve) => {
        answer = () => {
          order.push('renewed');
          resolve(renew(...args));
        };
      });
    store.release = (...args: Parameters<Store['release']>) => {
      order.push('released');
      return release(...args);
    };
    await clock.advance(leaseBeatMs);
    const released = run.release();
    await microtasks();
    expect(order).toEqual([]);

    answer();
    await released;
    expect(order).toEqual(['renewed', 'released']);
    expect(store.acquire(taking('other', NOW))).toMatchObject({ acquired: true });
  });

  it('does not free the lease of whoever took over (INV-51)', async () => {
    const { journal, store } = journalWorld();
    const run = await journal.openRun('s', 'r');
    await store.acquire(taking('other', NOW + leaseTtlMs));

    await run.release();

    expect(store.acquire(taking('third', NOW + leaseTtlMs))).toMatchObject({ owner: 'other' });
  });

  it('lets go even when the store does not take the lease back', async () => {
    const { journal, store } = journalWorld();
    const run = await journal.openRun('s', 'r');
    const { release } = store;
    store.release = () => {
      throw new Error('out of order');
    };
    await expect(run.release()).resolves.toBeUndefined();
    store.release = release;

    const again = await journal.openRun('s', 'again');
    expect(again.text('x')).toBe(1);
  });

  it('puts no record for a session that was taken from it', async () => {
    const { journal, store } = journalWorld();
    await journal.openRun('s', 'r');
    await store.acquire(taking('other', NOW + leaseTtlMs));

    await expect(journal.putRecord('r', 's', '{}')).rejects.toThrow(LeaseLostError);
  });

  it('puts no record into a session that another process holds', async () => {
    const { journal, store } = journalWorld();
    await store.acquire(taking('other', NOW));

    expect(await journal.putRecord('r', 's', '{}')).toBe(false);
  });

  it('keeps renewing a failed session until its runs have let go', async () => {
    const { journal, store, clock, turns } = journalWorld({ store: trickyStore() });
    store.fates = ['refused'];
    const run = await journal.openRun('s', 'r');
    run.text('x');
    await turns.all();
    await clock.advance(2 * leaseTtlMs);
    expect(store.acquire(taking('other', clock.now()))).toMatchObject({ acquired: false });

    await run.release();
    expect(store.acquire(taking('other', clock.now()))).toMatchObject({ acquired: true });
  });
});

describe('journal: limits', () => {
  it.each([
    ['queueBytesMax', 0],
    ['pageEntriesMax', -1],
    ['leaseTtlMs', Number.NaN],
    ['leaseBeatMs', 1.5],
  ])('refuses %s of %s and names it', (name, value) => {
    expect(() => journalLimits({ [name]: value })).toThrow(new RegExp(`"${name}"`));
  });

  it('refuses a lease shorter than three beats (INV-55)', () => {
    expect(() => journalLimits({ leaseTtlMs: 14_999 })).toThrow(/leaseTtlMs/);
    expect(journalLimits({ leaseTtlMs: 15_000 }).leaseTtlMs).toBe(15_000);
  });
});
