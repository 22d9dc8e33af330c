import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { acquire, newPath, open, removeDirectory, write } from './stores-sqlite-kit.ts';

/**
 * What one process can know of another here: nobody in this file is another process, so a killed one
 * is played by taking its lock away. A real one is killed in the integration tests.
 */

afterAll(removeDirectory);

const ownersIn = (path: string) =>
  readdirSync(dirname(path)).filter((name) => name.includes('-owner-'));

const taking = (owner: string, now = 1) => ({ key: 's', owner, now, ttlMs: 10 });

/** A database in which a killed process holds session `s` until 10. */
async function leftBehind(): Promise<string> {
  const path = newPath();
  const store = open(path);
  await acquire(store, 's', 0, 'dead');
  const [name] = ownersIn(path);
  await store.close();
  // A clean end removes the file; a killed process leaves it, unlocked.
  writeFileSync(join(dirname(path), String(name)), '');
  return path;
}

describe('sqlite store: owners that are gone', () => {
  it('lose their leases at once, to one who asks (INV-57)', async () => {
    const path = await leftBehind();
    const store = open(path);
    expect(await store.acquire(taking('next'))).toMatchObject({
      acquired: true,
      lease: { owner: 'next', generation: 2 },
    });
    await store.close();
  });

  it('could not write any more, were they still there (INV-58)', async () => {
    const path = await leftBehind();
    const store = open(path);
    await store.acquire(taking('next'));
    const stale = { key: 's', owner: 'dead', generation: 1 };
    expect(await write(store, stale, 1)).toBe('fenced');
    await store.close();
  });

  it('leave files that go when their leases have long expired', async () => {
    const path = await leftBehind();
    const store = open(path);
    await store.acquire(taking('next', 0));
    expect(ownersIn(path)).toHaveLength(2);
    await store.acquire(taking('next', 60_000));
    expect(ownersIn(path)).toHaveLength(1);
    await store.close();
    expect(ownersIn(path)).toEqual([]);
  });
});

describe('sqlite store: owners that live', () => {
  it('keep their leases, whoever asks and from which connection', async () => {
    const path = newPath();
    const mine = open(path);
    const other = open(path);
    await acquire(mine, 's', 0, 'mine');
    for (const store of [mine, other]) {
      for (const owner of ['b', 'c']) {
        expect(await store.acquire(taking(owner))).toEqual({
          acquired: false,
          owner: 'mine',
          expiresAt: 10,
        });
      }
    }
    await mine.close();
    await other.close();
  });

  it('are not swept away', async () => {
    const path = newPath();
    const mine = open(path);
    const other = open(path);
    await acquire(mine, 's', 0, 'mine');
    await acquire(other, 'x', 0, 'other');
    await acquire(other, 'x', 60_000, 'other');
    expect(ownersIn(path)).toHaveLength(2);
    await mine.close();
    await other.close();
  });

  it('are taken for alive when nothing shows that they are gone', async () => {
    const path = newPath();
    const mine = open(path);
    await acquire(mine, 's', 0, 'mine');
    await mine.close();
    const other = open(path);
    expect(await other.acquire(taking('other', 9))).toMatchObject({ acquired: false });
    expect(await other.acquire(taking('other', 10))).toMatchObject({ acquired: true });
    await other.close();
  });

  it('take leases also where their file cannot be locked', async () => {
    const path = newPath();
    const mine = open(path);
    await acquire(mine, 's', 0, 'same');
    const twin = open(path);
    expect(await twin.acquire(taking('same'))).toMatchObject({ acquired: true });
    await twin.close();
    expect(ownersIn(path)).toHaveLength(1);
    await mine.close();
  });

  it('may have any name', async () => {
    const path = newPath();
    const store = open(path);
    for (const owner of ['../../x', 'a/b', 'ä'.repeat(500)]) await acquire(store, owner, 0, owner);
    expect(ownersIn(path)).toHaveLength(3);
    await store.close();
    expect(existsSync(path)).toBe(true);
    rmSync(dirname(path), { recursive: true });
  });
});
