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

afterAll(removeDirectory);

describe('sqlite store: moving the tail to the archive', () => {
  it('gives the same entries before, during and after the move, and to a next process', async () => {
    const path = newPath();
    const store = open(path, { limits: { tailBytesMax: 40, sessionsPerStep: 1 } });
    const leases = await Promise.all(['a', 'b', 'c'].map((key) => acquire(store, key)));
    for (const seq of upTo(20)) {
      for (const lease of leases) {
        expect(await write(store, lease, seq)).toBe('written');
        expect(await store.head(lease.key)).toBe(seq);
        const next = open(path);
        expect(await seqs(next, 'a')).toEqual(upTo(seq));
        await next.close();
      }
      expect(await seqs(store, 'b')).toEqual(upTo(seq));
    }
    await store.close();

    const again = open(path);
    for (const { key } of leases) expect(await seqs(again, key)).toEqual(upTo(20));
    expect(await seqs(again, 'a', 11)).toEqual(upTo(20).slice(10));
    await again.close();
  });

  it('leaves little in the tail, so that a start is short', async () => {
    const path = newPath();
    const store = open(path, MOVING);
    const leases = await Promise.all(['a', 'b', 'c'].map((key) => acquire(store, key)));
    for (const seq of upTo(20)) for (const lease of leases) await write(store, lease, seq);
    await store.close();

    const db = new DatabaseSync(path);
    const { n } = db.prepare('SELECT count(*) AS n FROM tail').get() as { n: number };
    db.close();
    expect(n).toBeLessThanOrEqual(8);
  });

  it('joins small groups into rows of bounded size', async () => {
    const path = newPath();
    const store = open(path, { limits: { tailBytesMax: 300_000, sessionsPerStep: 1 } });
    const lease = await acquire(store, 's');
    for (const seq of upTo(400)) await write(store, lease, seq, `${seq}`.padStart(1_000, '0'));
    await store.close();

    const db = new DatabaseSync(path);
    const rows = db.prepare('SELECT length(body) AS n FROM journal').all() as { n: number }[];
    db.close();
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.length).toBeLessThan(20);
    for (const { n } of rows) expect(n).toBeLessThan(70_000);
  });

  it('counts an entry once that a crash left in both', async () => {
    const path = newPath();
    const store = open(path);
    const a = await acquire(store, 'a');
    const b = await acquire(store, 'b');
    for (const seq of upTo(3)) await write(store, a, seq);
    await write(store, b, 1);
    const db = new DatabaseSync(path);
    // What a process leaves that was killed after the first session of a move.
    db.exec(
      `INSERT INTO journal VALUES ('a', 1, 3, 9, '"1"' || char(10) || '"2"' || char(10) || '"3"')`,
    );
    db.close();
    await store.close();

    const again = open(path, MOVING);
    expect(await seqs(again, 'a')).toEqual([1, 2, 3]);
    expect(await write(again, await acquire(again, 'a'), 4)).toBe('written');
    expect(await write(again, await acquire(again, 'b'), 2)).toBe('written');
    expect(await seqs(again, 'a')).toEqual([1, 2, 3, 4]);
    expect(await seqs(again, 'b')).toEqual([1, 2]);
    await again.close();
  });

  it('does not bring back what was trimmed, however it is opened', async () => {
    const path = newPath();
    const store = open(path);
    const lease = await acquire(store, 's');
    for (const seq of upTo(4)) await write(store, lease, seq);
    const floor = await store.trim('s', 4);
    await store.close();

    const again = open(path);
    expect(floor).toBe(4);
    expect(await again.read('s', 1, ALL)).toMatchObject({ lines: [], floor: 4 });
    expect(await again.head('s')).toBe(4);
    await again.close();
  });

  it('knows the head of a session that was trimmed and moved long ago', async () => {
    const path = newPath();
    const store = open(path);
    const old = await acquire(store, 'old');
    const busy = await acquire(store, 'busy');
    await write(store, old, 1);
    await store.trim('old', 1);
    await write(store, busy, 1);
    await store.trim('busy', 1);
    await write(store, busy, 2);
    await store.trim('busy', 1);
    await store.close();

    const again = open(path);
    expect(await again.head('old')).toBe(1);
    expect(await write(again, await acquire(again, 'old'), 2)).toBe('written');
    await again.close();
  });
});
