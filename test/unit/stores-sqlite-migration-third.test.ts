import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { ALL, newPath, open, removeDirectory, schemaOf } from './stores-sqlite-kit.ts';

/**
 * Hazard: what an older version left on disk is the only copy of it. The schema below is that of the
 * third version and must never be changed.
 */
const REALM = 'substr(session_id, 1, instr(session_id, char(31)))';
const THIRD_SCHEMA = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE journal (
    session_id TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
    bytes INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_by_session ON journal (session_id, first_seq, last_seq, bytes);
  CREATE TABLE tail (
    id INTEGER PRIMARY KEY, parts TEXT NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE floors (session_id TEXT PRIMARY KEY, floor INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE leases (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, generation INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sizes (realm TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, settled_seq INTEGER, record TEXT NOT NULL,
    parked INTEGER NOT NULL DEFAULT 0, automatic INTEGER NOT NULL DEFAULT 0, continued_by TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX runs_by_session ON runs (session_id, run_id);
  CREATE INDEX runs_unsettled ON runs (run_id) WHERE settled_seq IS NULL;
  CREATE INDEX runs_by_realm ON runs (${REALM}, run_id);
  CREATE INDEX runs_resumable ON runs (run_id) WHERE parked = 1 AND continued_by IS NULL;
  CREATE INDEX runs_forgettable ON runs (run_id)
    WHERE settled_seq IS NOT NULL AND (parked = 0 OR continued_by IS NOT NULL);
  CREATE TABLE starts (
    key TEXT PRIMARY KEY, run_id TEXT NOT NULL, digest TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX starts_by_run ON starts (run_id);
  CREATE TABLE checkpoints (run_id TEXT PRIMARY KEY, checkpoint TEXT NOT NULL) STRICT;
  CREATE TABLE logs (run_id TEXT PRIMARY KEY, log TEXT NOT NULL) STRICT;
  CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY, first_run_id TEXT NOT NULL, last_run_id TEXT NOT NULL,
    runs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_run ON sessions (last_run_id);
  CREATE INDEX sessions_by_realm ON sessions (${REALM}, last_run_id);
  CREATE TABLE transcripts (session_id TEXT PRIMARY KEY, transcript TEXT NOT NULL) STRICT;
  CREATE TABLE approvals (
    decision_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, session_id TEXT NOT NULL,
    record TEXT NOT NULL, expires_at REAL NOT NULL, outcome TEXT
  ) STRICT;
  CREATE INDEX approvals_by_run ON approvals (run_id, decision_id);
  CREATE INDEX approvals_by_realm ON approvals (${REALM}, decision_id);
  CREATE INDEX approvals_pending ON approvals (${REALM}, decision_id, expires_at)
    WHERE outcome IS NULL;
  CREATE TABLE grants (
    session_id TEXT NOT NULL, agent TEXT NOT NULL, tool_name TEXT NOT NULL,
    matched_pattern TEXT NOT NULL, decision_id TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (session_id, agent, tool_name, matched_pattern)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX approvals_expiring ON approvals (expires_at, decision_id) WHERE outcome IS NULL;
  PRAGMA user_version = 3;
`;

const ROWS = `
  INSERT INTO tail VALUES (1, '[["s",1,2]]', '"one"' || char(10) || '22');
  INSERT INTO leases VALUES ('s', 'before', 7, 100);
  INSERT INTO runs VALUES ('r1', 's', 2, '{"v":1}', 1, 1, NULL);
  INSERT INTO checkpoints VALUES ('r1', '{"c":1}');
  INSERT INTO sessions VALUES ('s', 'r1', 'r1', 1);
  INSERT INTO approvals VALUES ('d1', 'r1', 's', '{"a":1}', 50, NULL),
    ('d2', 'r1', 's', '{"a":2}', 40, '"approved"');
  INSERT INTO grants VALUES ('s', 'a', 't', '*', 'd2', 1);
`;

function databaseOfThird(extra = ''): string {
  const path = newPath();
  mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path);
  db.exec(THIRD_SCHEMA);
  db.exec(ROWS);
  db.exec(extra);
  db.close();
  return path;
}

afterAll(removeDirectory);

describe('sqlite store: a file of the third version', () => {
  it('keeps entries, runs, approvals and grants', async () => {
    const store = open(databaseOfThird());

    expect((await store.read('s', 1, ALL)).lines).toEqual(['"one"', '22']);
    expect(await store.getRecord('r1')).toMatchObject({ record: '{"v":1}', automatic: true });
    expect(await store.getCheckpoint('r1')).toBe('{"c":1}');
    expect(await store.getApproval('d1')).toMatchObject({ outcome: undefined, expiresAt: 50 });
    expect(await store.getApproval('d2')).toMatchObject({ outcome: '"approved"' });
    expect(await store.listGrants('s')).toMatchObject([{ decisionId: 'd2' }]);
    await store.close();
  });

  it('has no approvals that have ended, and keeps those of its runs from then on', async () => {
    const path = databaseOfThird();
    const store = open(path);
    expect(await store.listEnded({ limit: 9 })).toEqual([]);
    expect(await store.discard('r1', '"cancelled"')).toBe(true);
    await store.close();

    const again = open(path);
    expect(await again.listEnded({ limit: 9 })).toEqual([
      {
        decisionId: 'd1',
        runId: 'r1',
        sessionId: 's',
        record: '{"a":1}',
        expiresAt: 50,
        outcome: '"cancelled"',
      },
    ]);
    await again.close();
  });

  it('has the schema of a new file afterwards', async () => {
    const [old, fresh] = [databaseOfThird(), newPath()];
    for (const path of [old, fresh]) await open(path).close();

    expect(schemaOf(old)).toEqual(schemaOf(fresh));
  });

  it('is left as it was when it cannot be brought up', () => {
    const path = databaseOfThird('CREATE TABLE ended_approvals (x)');
    const before = schemaOf(path);

    expect(() => open(path)).toThrow(/ended_approvals already exists/);
    expect(schemaOf(path)).toEqual(before);
  });
});
