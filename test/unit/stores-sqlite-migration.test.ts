import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import {
  acquire,
  ALL,
  newPath,
  open,
  removeDirectory,
  schemaOf,
  write,
} from './stores-sqlite-kit.ts';

/**
 * Hazard: what an older version left on disk is the only copy of it. The schema below is that of the
 * first version and must never be changed.
 */
const FIRST_SCHEMA = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE journal (
    session_id TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
    body TEXT NOT NULL, PRIMARY KEY (session_id, first_seq)
  ) STRICT;
  CREATE TABLE tail (
    id INTEGER PRIMARY KEY, parts TEXT NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE floors (session_id TEXT PRIMARY KEY, floor INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE leases (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, generation INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, settled_seq INTEGER, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX runs_by_session ON runs (session_id, run_id);
  CREATE INDEX runs_unsettled ON runs (run_id) WHERE settled_seq IS NULL;
  PRAGMA user_version = 1;
`;

const ROWS = `
  INSERT INTO journal VALUES ('s', 3, 4, '"three"' || char(10) || '"four"'), ('t', 1, 1, '"t"');
  INSERT INTO floors VALUES ('s', 2), ('gone', 9);
  INSERT INTO tail VALUES (1, '[["s",5,1],["u",1,2]]', '"five"' || char(10) || '1' || char(10) || '2');
  INSERT INTO leases VALUES ('s', 'before', 7, 100);
  INSERT INTO runs VALUES ('r1', 's', 4, '{"v":1}'), ('r2', 's', NULL, '{"v":2}'),
    ('r3', 't', 1, '{"v":3}');
`;

function databaseOfFirst(extra = ''): string {
  const path = newPath();
  mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path);
  db.exec(FIRST_SCHEMA);
  db.exec(ROWS);
  db.exec(extra);
  db.close();
  return path;
}

afterAll(removeDirectory);

describe('sqlite store: a file of the first version', () => {
  it('keeps its entries, floors and heads', async () => {
    const store = open(databaseOfFirst());

    expect(await store.read('s', 1, ALL)).toEqual({
      firstSeq: 3,
      lines: ['"three"', '"four"', '"five"'],
      floor: 2,
      complete: true,
    });
    expect(await store.read('u', 1, ALL)).toMatchObject({ lines: ['1', '2'] });
    expect(await store.head('gone')).toBe(9);
    await store.close();
  });

  it('keeps its runs, none of them parked, and gets sessions from them', async () => {
    const store = open(databaseOfFirst());
    const rest = { parked: false, automatic: false, continuedBy: undefined };

    expect(await store.listRecords({ limit: 9 })).toEqual([
      { runId: 'r3', sessionId: 't', record: '{"v":3}', settledSeq: 1, ...rest },
      { runId: 'r2', sessionId: 's', record: '{"v":2}', settledSeq: undefined, ...rest },
      { runId: 'r1', sessionId: 's', record: '{"v":1}', settledSeq: 4, ...rest },
    ]);
    expect(await store.listSessions({ limit: 9 })).toEqual([
      { sessionId: 't', firstRunId: 'r3', lastRunId: 'r3', runs: 1 },
      { sessionId: 's', firstRunId: 'r1', lastRunId: 'r2', runs: 2 },
    ]);
    await store.close();
  });

  it('knows the sizes of what it has, and forgets them with it', async () => {
    const store = open(databaseOfFirst());
    const sizes = ['"three"', '"four"', '"five"'].map(({ length }) => length);
    const all = sizes.reduce((sum, size) => sum + size, 0);

    expect(await store.bytes('s')).toBe(all);
    expect(await store.totalBytes()).toBe(all + '"t"12'.length);
    expect(await store.trim('s', 5)).toBe(5);
    await store.trim('t', 1);
    await store.trim('u', 2);
    expect(await store.totalBytes()).toBe(0);
    await store.close();
  });

  it('is written on, by leases that go on counting', async () => {
    const store = open(databaseOfFirst());
    const lease = await acquire(store, 's', 200);

    expect(lease.generation).toBe(8);
    expect(await write(store, lease, 6)).toBe('written');
    await store.append([
      { lease, firstSeq: 7, count: 0, body: '', terminal: { runId: 'r2', line: '0' } },
    ]);
    expect(await store.getRecord('r2')).toMatchObject({ settledSeq: 7, record: '{"v":2}' });
    expect(await store.forgetRuns('r9', 9)).toBe(3);
    await store.close();
  });

  it('has the schema of a new file afterwards', async () => {
    const [old, fresh] = [databaseOfFirst(), newPath()];
    for (const path of [old, fresh]) await open(path).close();

    expect(schemaOf(old)).toEqual(schemaOf(fresh));
  });

  it('is left as it was when it cannot be brought up', () => {
    const path = databaseOfFirst('CREATE TABLE approvals (x)');
    const before = schemaOf(path);

    expect(() => open(path)).toThrow(/approvals already exists/);
    expect(schemaOf(path)).toEqual(before);
  });
});
