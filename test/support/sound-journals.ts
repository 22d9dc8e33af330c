import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import type { Envelope } from '../../src/journal/events.ts';
import { checkJournal, type CheckOptions } from '../../src/journal/invariants.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import type { Store } from '../../src/stores/store.ts';

const PAGE = { entriesMax: 100_000, bytesMax: 100_000_000 };
const SESSIONS_MAX = 10_000;

/** Stores whose journals are to be checked when the test of the file ends. */
const due = new Set<Store>();

afterEach(async () => {
  const stores = [...due];
  due.clear();
  for (const store of stores) await expectSoundJournals(store);
});

/**
 * Has every journal of a store checked when the test ends, whatever became of its runs: one that has
 * not ended may be in the middle of anything, but of nothing that must never be.
 */
export const checkAtEnd = (store: Store): void => void due.add(store);

/** The test has looked at the journals itself, and more closely. */
export const isChecked = (store: Store): void => void due.delete(store);

/** The same for the data directory of a server that is gone. */
export async function expectSoundData(
  dataDir: string,
  options: Pick<CheckOptions, 'clock'> = {},
): Promise<void> {
  const path = join(dataDir, 'runwarden.db');
  if (!existsSync(path)) return;
  const store = openSqliteStore({ path, durability: 'process' });
  try {
    await expectSoundJournals(store, options);
  } finally {
    await store.close();
  }
}

async function expectSoundJournals(
  store: Store,
  options: Pick<CheckOptions, 'clock'> = {},
): Promise<void> {
  for (const id of await sessionsOf(store)) {
    const { lines } = await store.read(id, 1, PAGE);
    const entries = lines.map((line) => JSON.parse(line) as Envelope);
    // What is trimmed may be what the rest rests on.
    if (entries[0]?.seq !== 1) continue;
    expect(checkJournal(entries, options), `the journal of ${id}`).toEqual([]);
  }
}

/** None of a store that a test has closed, or that is to fail. */
async function sessionsOf(store: Store): Promise<readonly string[]> {
  try {
    const listed = await store.listSessions({ limit: SESSIONS_MAX });
    return listed.map(({ sessionId }) => sessionId);
  } catch {
    return [];
  }
}
