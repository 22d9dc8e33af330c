import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { ALL, newPath, open, removeDirectory, schemaOf } from './stores-sqlite-kit.ts';

/**
 * Hazard: what an older version left on disk is the only copy of it. The schema below is that of the
 * second version and must never be changed.
 */
const REALM = 'substr(session_id, 1, instr(session_id, char(31)))';
const SECOND_SCHEMA = `
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
  PRAGMA user_version = 2;
`;

const ROWS = `
  INSERT INTO journal VALUES ('s', 1, 2, 7, '"one"' || char(10) || '22'), ('t', 1, 1, 3, '"t"');
  INSERT INTO sizes VALUES ('', 10);
  INSERT INTO tail VALUES (1, '[["s",3,1]]', '"three"');
  INSERT INTO leases VALUES ('s', 'before', 7, 100);
  INSERT INTO runs VALUES ('r1', 's', 2, '{"v":1}', 1, 1, NULL), ('r2', 't', 1, '{"v":2}', 1, 0, 'r3'),
    ('r3', 't', NULL, '{"v":3}', 0, 0, NULL);
  INSERT INTO checkpoints VALUES ('r1', '{"c":1}');
  INSERT INTO logs VALUES ('r1', 'log');
  INSERT INTO starts VALUES ('key', 'r1', 'digest');
  INSERT INTO sessions VALUES ('s', 'r1', 'r1', 1), ('t', 'r2', 'r3', 2);
  INSERT INTO transcripts VALUES ('s', '[]');
  INSERT INTO approvals VALUES ('d1', 'r1', 's', '{"a":1}', 50, NULL),
    ('d2', 'r1', 's', '{"a":2}', 9e999, NULL), ('d3', 'r1', 's', '{"a":3}', 40, '"approved"'),
    ('d4', 'r2', 't', '{"a":4}', 30, NULL);
`;

function databaseOfSecond(extra = ''): string {
  const path = newPath();
  mkdirSync(dirname(path), { recursive: true });
  const db = new DatabaseSync(path);
  db.exec(SECOND_SCHEMA);
  db.exec(ROWS);
  db.exec(extra);
  db.close();
  return path;
}

afterAll(removeDirectory);

describe('sqlite store: a file of the second version', () => {
  it('keeps entries, runs, sessions and what belongs to them', async () => {
    const store = open(databaseOfSecond());

    expect((await store.read('s', 1, ALL)).lines).toEqual(['"one"', '22', '"three"']);
    expect(await store.totalBytes()).toBe(17);
    expect(await store.getRecord('r1')).toMatchObject({ record: '{"v":1}', automatic: true });
    expect(await store.getRecord('r2')).toMatchObject({ continuedBy: 'r3' });
    expect(await store.getCheckpoint('r1')).toBe('{"c":1}');
    expect(await store.getLog('r1')).toBe('log');
    expect(await store.getStart('key')).toEqual({ runId: 'r1', digest: 'digest' });
    expect(await store.getTranscript('s')).toBe('[]');
    expect(await store.listSessions({ limit: 9 })).toHaveLength(2);
    await store.close();
  });

  it('finds what expires first of the approvals that it had, and closes it', async () => {
    const store = open(databaseOfSecond());
    const ids = async () => (await store.listExpiring(9)).map(({ decisionId }) => decisionId);

    expect(await ids()).toEqual(['d1', 'd2']);
    expect(await store.expireApproval('d1', '"out"', 50)).toBe(true);
    expect(await ids()).toEqual(['d2']);
    expect(await store.getApproval('d3')).toMatchObject({ outcome: '"approved"' });
    await store.close();
  });

  it('has no grants, and keeps those of its sessions from then on', async () => {
    const path = databaseOfSecond();
    const grant = { agent: 'a', toolName: 't', matchedPattern: '*', decisionId: 'd3', at: 1 };
    const store = open(path);
    expect(await store.listGrants('s')).toEqual([]);
    await store.putGrant({ sessionId: 's', ...grant });
    await store.close();

    const again = open(path);
    expect(await again.listGrants('s')).toEqual([{ sessionId: 's', ...grant }]);
    await again.close();
  });

  it('has the schema of a new file afterwards', async () => {
    const [old, fresh] = [databaseOfSecond(), newPath()];
    for (const path of [old, fresh]) await open(path).close();

    expect(schemaOf(old)).toEqual(schemaOf(fresh));
  });

  it('is left as it was when it cannot be brought up', () => {
    const path = databaseOfSecond('CREATE TABLE grants (x)');
    const before = schemaOf(path);

    expect(() => open(path)).toThrow(/grants already exists/);
    expect(schemaOf(path)).toEqual(before);
  });
});
