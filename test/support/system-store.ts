import { join } from 'node:path';
import { expect } from 'vitest';
import type { RunRecord } from '../../src/handle.ts';
import type { Envelope } from '../../src/journal/events.ts';
import { checkJournal, type CheckOptions } from '../../src/journal/invariants.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import type { Store, StoredRun } from '../../src/stores/store.ts';

const PAGE = { entriesMax: 100_000, bytesMax: 100_000_000 };
const RUNS_MAX = 10_000;

/** One session as the database has it; runs and records are newest first. */
export interface StoredSession {
  readonly id: string;
  readonly entries: readonly Envelope[];
  readonly records: readonly RunRecord[];
  readonly runs: readonly KeptRun[];
  readonly transcript: string | undefined;
}

/** A run with the texts that are kept of it. */
export interface KeptRun extends StoredRun {
  readonly checkpoint: string | undefined;
  readonly log: string | undefined;
}

/**
 * Reads every session of a data directory whose server is gone. One whose run was killed before its
 * record was stored is not known to the index, so that one is named.
 */
export function readSessions(
  dataDir: string,
  ...named: readonly string[]
): Promise<readonly StoredSession[]> {
  return withStore(dataDir, async (store) => {
    const listed = await store.listSessions({ limit: RUNS_MAX });
    const ids = new Set([...named, ...listed.map(({ sessionId }) => sessionId)]);
    return Promise.all([...ids].map((id) => sessionOf(store, id)));
  });
}

/** Everything a finished store must show, whatever the runs in it went through. */
export async function expectSoundStore(
  dataDir: string,
  secret: string,
  options: Pick<CheckOptions, 'clock'> = {},
): Promise<void> {
  for (const session of await readSessions(dataDir)) {
    const { id, entries, records } = session;
    expect(checkJournal(entries, { ...options, ended: true }), `the journal of ${id}`).toEqual([]);
    expect(JSON.stringify(session)).not.toContain(secret);
    const open = records.filter(({ ended_at, claims }) => ended_at === null || claims.length > 0);
    expect(open, 'runs whose record says that they go on').toEqual([]);
    expect(new Set(records.map(({ run_id: runId }) => runId))).toEqual(begunIn(entries));
    expectCheckpoints(session);
  }
}

/** What can be resumed has what it is resumed from, and nothing else takes room. */
function expectCheckpoints({ runs }: StoredSession): void {
  for (const { runId, parked, continuedBy, checkpoint } of runs) {
    if (!parked) expect(checkpoint, `a checkpoint of ${runId}, which has ended`).toBeUndefined();
    else if (continuedBy === undefined) {
      expect(checkpoint, `a checkpoint of ${runId}, which is parked`).toBeDefined();
    }
  }
}

const begunIn = (entries: readonly Envelope[]): Set<string | undefined> =>
  new Set(
    entries
      .filter(({ payload: { event } }) => event.type === 'started' || event.type === 'queued')
      .flatMap(({ run_id: runId }) => runId ?? []),
  );

async function withStore<T>(dataDir: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openSqliteStore({ path: join(dataDir, 'runwarden.db'), durability: 'process' });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function sessionOf(store: Store, id: string): Promise<StoredSession> {
  const stored = await store.listRecords({ sessionId: id, limit: RUNS_MAX });
  const runs = await Promise.all(
    stored.map(async (run) => ({
      ...run,
      checkpoint: await store.getCheckpoint(run.runId),
      log: await store.getLog(run.runId),
    })),
  );
  return {
    id,
    entries: await entriesOf(store, id),
    records: runs.map(({ record }) => JSON.parse(record) as RunRecord),
    runs,
    transcript: await store.getTranscript(id),
  };
}

async function entriesOf(store: Store, sessionId: string): Promise<readonly Envelope[]> {
  const { lines, complete } = await store.read(sessionId, 1, PAGE);
  expect(complete).toBe(true);
  return lines.map((line) => JSON.parse(line) as Envelope);
}
