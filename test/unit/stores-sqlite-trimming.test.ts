import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import {
  acquire,
  ALL,
  MOVING,
  newPath,
  open,
  removeDirectory,
  seqs,
  upTo,
  write,
} from './stores-sqlite-kit.ts';

/** Trimming beside the tail, where entries wait that are not in the archive yet. */

afterAll(removeDirectory);

const countIn = (path: string, table: string): number => {
  const db = new DatabaseSync(path);
  const { n } = db.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number };
  db.close();
  return n;
};

describe('sqlite store: trimming', () => {
  it('moves nothing of other sessions, and nothing of its own', async () => {
    const path = newPath();
    const store = open(path);
    const leases = await Promise.all(['a', 'b'].map((key) => acquire(store, key)));
    for (const seq of upTo(5)) for (const lease of leases) await write(store, lease, seq);

    expect(await store.trim('a', 3)).toBe(3);

    expect(countIn(path, 'journal')).toBe(0);
    expect(await seqs(store, 'a')).toEqual([4, 5]);
    expect(await seqs(store, 'b')).toEqual(upTo(5));
    await store.close();
  });

  it('is seen by a process that had the entries in memory', async () => {
    const path = newPath();
    const mine = open(path);
    const other = open(path);
    const lease = await acquire(mine, 's');
    for (const seq of upTo(5)) await write(mine, lease, seq);
    expect(await seqs(other, 's')).toEqual(upTo(5));

    await mine.trim('s', 3);

    expect(await other.read('s', 1, ALL)).toMatchObject({ floor: 3, firstSeq: 4 });
    expect(await other.bytes('s')).toBe(await mine.bytes('s'));
    expect(await other.trim('s', 4)).toBe(4);
    expect(await mine.read('s', 1, ALL)).toMatchObject({ floor: 4, lines: ['"5"'] });
    expect(await other.trim('s', 5)).toBe(5);
    expect(await mine.bytes('s')).toBe(0);
    expect(await write(mine, lease, 6)).toBe('written');
    await mine.close();
    await other.close();
  });

  it('is not undone by a move, whichever process moves', async () => {
    const path = newPath();
    const mine = open(path);
    const other = open(path, MOVING);
    const lease = await acquire(mine, 's');
    const busy = await acquire(other, 'busy');
    for (const seq of upTo(5)) await write(mine, lease, seq);
    expect(await seqs(other, 's')).toEqual(upTo(5));
    await mine.trim('s', 3);

    for (const seq of upTo(6)) await write(other, busy, seq);

    for (const store of [mine, other, open(path)]) {
      expect(await seqs(store, 's')).toEqual([4, 5]);
      expect(await store.bytes('s')).toBe(6);
      await store.close();
    }
  });

  it('keeps its floor when the file is opened again, with entries of both kinds', async () => {
    const path = newPath();
    const store = open(path, MOVING);
    const lease = await acquire(store, 's');
    for (const seq of upTo(3)) await write(store, lease, seq);
    await store.close();
    const tail = open(path);
    const next = await acquire(tail, 's');
    for (const seq of [4, 5, 6]) await write(tail, next, seq);

    expect(await tail.trim('s', 5)).toBe(5);
    await tail.close();

    const again = open(path);
    expect(await again.read('s', 1, ALL)).toMatchObject({ floor: 5, lines: ['"6"'] });
    expect(await again.bytes('s')).toBe(3);
    await again.close();
  });

  it('leaves the tail bounded, although what was trimmed stays in it for a while', async () => {
    const path = newPath();
    const store = open(path, { limits: { tailBytesMax: 200, sessionsPerStep: 1 } });
    const lease = await acquire(store, 's');
    for (const seq of upTo(400)) {
      await write(store, lease, seq);
      await store.trim('s', seq);
    }

    expect(countIn(path, 'tail')).toBeLessThan(100);
    expect(await store.read('s', 1, ALL)).toMatchObject({ floor: 400, lines: [] });
    await store.close();
  });

  it('takes a session of many rows in pieces, and ends', async () => {
    const store = open(newPath(), MOVING);
    const lease = await acquire(store, 's');
    for (const seq of upTo(300)) await write(store, lease, seq);
    const floors = [];
    for (let floor = 0; floor < 300; ) {
      floor = await store.trim('s', 300);
      floors.push(floor);
    }

    expect(floors.length).toBeGreaterThan(1);
    expect(floors.length).toBeLessThan(6);
    expect(await store.totalBytes()).toBe(0);
    await store.close();
  });
});
