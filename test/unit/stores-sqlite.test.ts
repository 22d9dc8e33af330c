import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { SqliteFile } from '../../src/stores/sqlite-file.ts';
import { SCHEMA_VERSION } from '../../src/stores/sqlite-schema.ts';
import { StoreError } from '../../src/stores/store.ts';
import {
  acquire,
  directory,
  newPath,
  open,
  removeDirectory,
  seqs,
  write,
} from './stores-sqlite-kit.ts';

afterAll(removeDirectory);

describe('sqlite store: the file', () => {
  it('makes the directory and keeps everything when it is opened again', async () => {
    const path = newPath();
    const first = open(path);
    const lease = await acquire(first, 's');
    await write(first, lease, 1);
    await first.putRecord({ runId: 'r', sessionId: 's', record: '{}' }, lease);
    await first.close();

    const second = open(path, { durability: 'power' });

    expect(await seqs(second, 's')).toEqual([1]);
    expect(await second.getRecord('r')).toMatchObject({ sessionId: 's' });
    expect(await write(second, await acquire(second, 's'), 2)).toBe('written');
    await second.close();
  });

  it('refuses a file of a newer version and leaves it as it is', () => {
    const path = newPath();
    void open(path).close();
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
    db.close();

    expect(() => open(path)).toThrow(/newer version \(schema 5; this one knows 4\)/);
  });

  it('refuses a file of another program', () => {
    const path = join(directory, 'foreign.db');
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE other (x)');
    db.close();

    expect(() => open(path)).toThrow(/belongs to another program/);
  });

  it('refuses a file that is not a database', () => {
    const path = join(directory, 'text.db');
    writeFileSync(
      path,
      'this is text, and long enough not to be taken for an empty database\n'.repeat(20),
    );

    expect(() => open(path)).toThrow(StoreError);
    expect(() => open(path)).toThrow(/not a SQLite database/);
  });

  it.each([
    ['a file stands where the directory should be', 'text2.db', 'text2.db/x/test.db'],
    ['the path is a directory', 'dir.db/inner.db', 'dir.db'],
  ])('says what to do when %s', (_, existing, wanted) => {
    const store = existing.endsWith('inner.db') ? open(join(directory, existing)) : undefined;
    if (store === undefined) writeFileSync(join(directory, existing), '');

    expect(() => open(join(directory, wanted))).toThrow(/cannot be opened: .+\./);
    void store?.close();
  });

  it('says that the disk is full, and goes on when there is room', () => {
    const file = new SqliteFile({ path: newPath(), durability: 'process', busyMs: 0 });
    const pages = file.prepare('PRAGMA page_count').get() as { page_count: number };
    file.prepare(`PRAGMA max_page_count = ${pages.page_count + 1}`).get();
    const insert = file.prepare('INSERT INTO floors VALUES (?, 1)');
    const fill = () => file.write(() => insert.run('x'.repeat(100_000)));

    expect(fill).toThrow(/disk is full/);
    file.prepare('PRAGMA max_page_count = 100000').get();
    expect(fill).not.toThrow();
    file.close();
  });

  it('leaves no trace of a transaction that fails', () => {
    const file = new SqliteFile({ path: newPath(), durability: 'process', busyMs: 0 });
    const insert = file.prepare('INSERT INTO floors VALUES (?, 1)');
    const failing = () =>
      file.write(() => {
        insert.run('a');
        throw new Error('in the middle');
      });

    expect(failing).toThrow(StoreError);
    file.write(() => insert.run('b'));
    expect(file.prepare('SELECT session_id FROM floors').all()).toEqual([{ session_id: 'b' }]);
    file.close();
  });

  it('fails instead of waiting for ever for another writer', () => {
    const path = newPath();
    void open(path).close();
    const file = new SqliteFile({ path, durability: 'process', busyMs: 0 });
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');

    expect(() => file.write(() => 1)).toThrow(/locked/);
    other.exec('ROLLBACK');
    expect(file.write(() => 1)).toBe(1);
    other.close();
    file.close();
  });
});

describe('sqlite store: checkpoints', () => {
  it('moves the log into the database while the store is in use', async () => {
    const path = newPath();
    const store = open(path);
    const lease = await acquire(store, 's');
    const before = statSync(path).size;
    let seq = 0;
    // Written to until the thread has been at work; the runner's own limit ends a wait in vain.
    while (statSync(path).size < before + 1_000_000) {
      seq += 1;
      await write(store, lease, seq, `${seq}`.padStart(50_000, '0'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await store.close();

    const again = open(path);
    expect(await again.head('s')).toBe(seq);
    expect((await seqs(again, 's')).length).toBe(seq);
    await again.close();
  });
});
