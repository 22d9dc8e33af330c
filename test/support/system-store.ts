import { join } from 'node:path';
import { expect } from 'vitest';
import type { RunRecord } from '../../src/handle.ts';
import type { Envelope } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import type { Store } from '../../src/stores/store.ts';

const PAGE = { entriesMax: 100_000, bytesMax: 100_000_000 };
const RUNS_MAX = 10_000;

/** One session as the database has it. */
export interface StoredSession {
  readonly id: string;
  readonly entries: readonly Envelope[];
  readonly records: readonly RunRecord[];
}

/**
 * Reads every session of a data directory whose server is gone. A run that was killed has no record
 * to know its session by, so that one is named.
 */
export async function readSessions(
  dataDir: string,
  ...named: readonly string[]
): Promise<readonly StoredSession[]> {
  const store = openSqliteStore({ path: join(dataDir, 'runwarden.db'), durability: 'process' });
  try {
    const runs = await store.listRecords({ limit: RUNS_MAX });
    const ids = [...new Set([...named, ...runs.map(({ sessionId }) => sessionId)])];
    return await Promise.all(
      ids.map(async (id) => ({
        id,
        entries: await entriesOf(store, id),
        records: runs
          .filter(({ sessionId }) => sessionId === id)
          .map(({ record }) => JSON.parse(record) as RunRecord),
      })),
    );
  } finally {
    await store.close();
  }
}

/** Everything a finished store must show, whatever the runs in it went through. */
export async function expectSoundStore(dataDir: string, secret: string): Promise<void> {
  for (const { id, entries, records } of await readSessions(dataDir)) {
    expect(checkJournal(entries, { ended: true }), `the journal of ${id}`).toEqual([]);
    expect(JSON.stringify(entries)).not.toContain(secret);
    const open = records.filter(({ ended_at, claims }) => ended_at === null || claims.length > 0);
    expect(open, 'runs whose record says that they go on').toEqual([]);
    expect(records.length).toBe(
      entries.filter(({ payload }) => payload.event.type === 'started').length,
    );
  }
}

async function entriesOf(store: Store, sessionId: string): Promise<readonly Envelope[]> {
  const { lines, complete } = await store.read(sessionId, 1, PAGE);
  expect(complete).toBe(true);
  return lines.map((line) => JSON.parse(line) as Envelope);
}
