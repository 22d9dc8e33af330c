import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { storeContract } from './store-contract.ts';

const directory = mkdtempSync(join(tmpdir(), 'runwarden-store-'));
let files = 0;

const openSqlite = (limits?: { tailBytesMax: number; sessionsPerStep: number }) => () => {
  files += 1;
  const path = join(directory, `${files}.db`);
  return openSqliteStore({ path, ...(limits !== undefined && { limits }) });
};

afterAll(() => rmSync(directory, { recursive: true }));

storeContract('memory', () => createMemoryStore());
storeContract('sqlite', openSqlite());

// Every append moves something to the archive, so each promise is kept on both sides of the move.
storeContract('sqlite, always moving', openSqlite({ tailBytesMax: 1, sessionsPerStep: 1 }));
