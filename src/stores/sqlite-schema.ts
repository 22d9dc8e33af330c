import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store.ts';

/**
 * Persisted. `tail` takes each append transaction as one row, whatever the number of sessions in
 * it, because a row a session would dirty a page a session. From there entries are moved in bulk
 * to `journal`, where one row holds many of a session. An entry may be in both for a moment and
 * counts once. Ids of `tail` are dense and never used twice, so that a reader knows how far it has
 * read; therefore its newest row is never deleted.
 *
 * `journal` has row ids: in a table without them every key that is passed by on the way to another
 * is read with the whole row that it belongs to, and these rows are long.
 */
const FIRST = `
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
`;

/**
 * Sessions that share the text before the first U+001F, that included, are a realm; those without
 * one are in the realm `''`. Indexes find the rows of a realm, so this text is part of the schema.
 */
export const REALM = 'substr(session_id, 1, instr(session_id, char(31)))';

/** Runs that may be deleted: part of the schema, as the condition of an index. */
export const FORGETTABLE = 'settled_seq IS NOT NULL AND (parked = 0 OR continued_by IS NOT NULL)';

/** Runs that wait for a resume; the same holds. */
export const RESUMABLE = 'parked = 1 AND continued_by IS NULL';

/**
 * Persisted. The index of `journal` answers for the sizes of rows, which are read without their
 * bodies, and `sizes` for those of realms. Long texts stand in tables of their own, with row ids.
 * An approval's time is a real number, because one that never expires is infinite.
 */
const SECOND = `
  ALTER TABLE journal RENAME TO journal_first;
  CREATE TABLE journal (
    session_id TEXT NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
    bytes INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  INSERT INTO journal
    SELECT session_id, first_seq, last_seq, length(body) - (last_seq - first_seq), body
    FROM journal_first;
  DROP TABLE journal_first;
  CREATE INDEX journal_by_session ON journal (session_id, first_seq, last_seq, bytes);
  CREATE TABLE sizes (realm TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO sizes SELECT ${REALM}, sum(bytes) FROM journal GROUP BY 1;

  ALTER TABLE runs ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN automatic INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN continued_by TEXT;
  CREATE INDEX runs_by_realm ON runs (${REALM}, run_id);
  CREATE INDEX runs_resumable ON runs (run_id) WHERE ${RESUMABLE};
  CREATE INDEX runs_forgettable ON runs (run_id) WHERE ${FORGETTABLE};
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
  INSERT INTO sessions
    SELECT session_id, min(run_id), max(run_id), count(*) FROM runs GROUP BY session_id;
  CREATE TABLE transcripts (session_id TEXT PRIMARY KEY, transcript TEXT NOT NULL) STRICT;

  CREATE TABLE approvals (
    decision_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, session_id TEXT NOT NULL,
    record TEXT NOT NULL, expires_at REAL NOT NULL, outcome TEXT
  ) STRICT;
  CREATE INDEX approvals_by_run ON approvals (run_id, decision_id);
  CREATE INDEX approvals_by_realm ON approvals (${REALM}, decision_id);
  CREATE INDEX approvals_pending ON approvals (${REALM}, decision_id, expires_at)
    WHERE outcome IS NULL;
`;

/** Persisted. What is due first is found by an index; approvals that were decided are not in it. */
const THIRD = `
  CREATE TABLE grants (
    session_id TEXT NOT NULL, agent TEXT NOT NULL, tool_name TEXT NOT NULL,
    matched_pattern TEXT NOT NULL, decision_id TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (session_id, agent, tool_name, matched_pattern)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX approvals_expiring ON approvals (expires_at, decision_id) WHERE outcome IS NULL;
`;

/** Persisted. Approvals that have ended, as long as their runs are kept. */
const FOURTH = `
  CREATE TABLE ended_approvals (
    decision_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, session_id TEXT NOT NULL,
    record TEXT NOT NULL, expires_at REAL NOT NULL, outcome TEXT NOT NULL
  ) STRICT;
  CREATE INDEX ended_approvals_by_run ON ended_approvals (run_id, decision_id);
  CREATE INDEX ended_approvals_by_realm ON ended_approvals (${REALM}, decision_id);
`;

/** Each brings a file of the version that is its place in the list to the next one. */
const STEPS = [FIRST, SECOND, THIRD, FOURTH] as const;

/** A newer file is refused, an older one is brought up by the steps from its version on. */
export const SCHEMA_VERSION = STEPS.length;

export const versionOf = (db: DatabaseSync): number =>
  (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;

/**
 * Brings the file up to {@link SCHEMA_VERSION} in one transaction. Another process may have done so in
 * the meantime, so the version is read again inside. Throws `StoreError` for a file of another program.
 */
export function migrate(db: DatabaseSync, path: string): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    const version = versionOf(db);
    if (version === 0) checkEmpty(db, path);
    for (const step of STEPS.slice(version)) db.exec(step);
    if (version < SCHEMA_VERSION) db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function checkEmpty(db: DatabaseSync, path: string): void {
  const { n } = db.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { n: number };
  if (n === 0) return;
  throw new StoreError(
    `The database ${path} belongs to another program. Name another data directory.`,
  );
}
