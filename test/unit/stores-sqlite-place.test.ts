import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { reasonOf } from '../../src/stores/watched-store.ts';
import { acquire, newPath, open, removeDirectory, write } from './stores-sqlite-kit.ts';

/** A database file that is taken away under the process, and a process that is not alone. */

afterAll(removeDirectory);

function thrownBy(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error('It threw nothing.');
}

describe('sqlite store: its file', () => {
  it.each([
    ['deleted', (path: string) => rmSync(path)],
    [
      'replaced',
      (path: string) => {
        copyFileSync(path, `${path}.copy`);
        renameSync(`${path}.copy`, path);
      },
    ],
  ])('is missed when it is %s, by a ping and by whoever wants a session', async (_how, take) => {
    const path = newPath();
    const store = open(path);
    await store.ping();
    take(path);
    const error = thrownBy(() => store.ping());
    expect(error).toMatchObject({ code: 'store_unavailable' });
    expect(error.message).toContain(path);
    expect(reasonOf(error)).toContain('deleted or replaced');
    expect(reasonOf(error)).not.toContain(path);
    const refused = thrownBy(() => store.acquire({ key: 's', owner: 'me', now: 0, ttlMs: 10 }));
    expect(refused.message).toBe(error.message);
    await store.close();
  });

  it('is not missed while it is there, whatever is written and checkpointed', async () => {
    const store = open(newPath());
    const lease = await acquire(store, 's');
    for (let seq = 1; seq <= 20; seq += 1) await write(store, lease, seq, 'x'.repeat(100_000));
    await store.ping();
    await store.close();
  });
});

describe('sqlite store: others', () => {
  it('are counted from their start until their end', async () => {
    const path = newPath();
    const mine = open(path);
    expect(await mine.join?.('mine', 0)).toBe(0);
    expect(await mine.join?.('mine', 0)).toBe(0);
    const other = open(path);
    expect(await other.join?.('other', 0)).toBe(1);
    expect(await mine.join?.('mine', 0)).toBe(1);
    await other.close();
    expect(await mine.join?.('mine', 0)).toBe(0);
    await mine.close();
  });

  it('that were killed are not counted', async () => {
    const path = newPath();
    const dead = open(path);
    await dead.join?.('dead', 0);
    const names = `${path}-owner-copy`;
    copyFileSync(path, names);
    await dead.close();
    const mine = open(path);
    expect(await mine.join?.('mine', 0)).toBe(0);
    await mine.close();
  });
});
