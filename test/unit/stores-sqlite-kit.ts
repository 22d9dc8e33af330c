import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore, type SqliteStoreOptions } from '../../src/stores/sqlite.ts';
import type { Lease, Store } from '../../src/stores/store.ts';

/** Where a test file keeps its databases. */
export const directory = mkdtempSync(join(tmpdir(), 'runwarden-sqlite-'));
export const removeDirectory = (): void => rmSync(directory, { recursive: true });

let files = 0;
export const newPath = (): string => {
  files += 1;
  return join(directory, `dir-${files}`, 'deep', 'test.db');
};

export const open = (path: string, options: Partial<SqliteStoreOptions> = {}): Store =>
  openSqliteStore({ path, ...options });

/** Limits under which every append moves a session to the archive. */
export const MOVING = { limits: { tailBytesMax: 1, sessionsPerStep: 1 } };
export const ALL = { entriesMax: 100_000, bytesMax: 100_000_000 };

export async function acquire(store: Store, key: string, now = 0, owner = 'me'): Promise<Lease> {
  const outcome = await store.acquire({ key, owner, now, ttlMs: 10 });
  if (!outcome.acquired) throw new Error(`held by ${outcome.owner}`);
  return outcome.lease;
}

export async function write(
  store: Store,
  lease: Lease,
  seq: number,
  text = `${seq}`,
): Promise<string> {
  const [outcome] = await store.append([
    { lease, firstSeq: seq, count: 1, body: JSON.stringify(text) },
  ]);
  return outcome?.status ?? 'none';
}

export const seqs = async (store: Store, key: string, from = 1) =>
  (await store.read(key, from, ALL)).lines.map((line) => Number(JSON.parse(line)));

export const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

/** Everything that makes a schema, in an order of its own. */
export function schemaOf(path: string): unknown[] {
  const db = new DatabaseSync(path);
  const rows = db.prepare('SELECT type, name, tbl_name FROM sqlite_schema ORDER BY name').all();
  const columns = db.prepare(
    `SELECT m.name AS "table", p.name, p.type, p."notnull", p.pk
     FROM sqlite_schema m JOIN pragma_table_info(m.name) p
     WHERE m.type = 'table' ORDER BY m.name, p.cid`,
  );
  const schema = [...rows, ...columns.all(), db.prepare('PRAGMA user_version').get()];
  db.close();
  return schema;
}
