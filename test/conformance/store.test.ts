import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import { approvalsContract } from './store-contract-approvals.ts';
import { discardingContract } from './store-contract-discarding.ts';
import { endedContract } from './store-contract-ended.ts';
import { expiringContract } from './store-contract-expiring.ts';
import { grantsContract } from './store-contract-grants.ts';
import { parkingContract } from './store-contract-parking.ts';
import { sessionsContract } from './store-contract-sessions.ts';
import { storeContract } from './store-contract.ts';

const directory = mkdtempSync(join(tmpdir(), 'runwarden-store-'));
let files = 0;

const openSqlite = (limits?: { tailBytesMax: number; sessionsPerStep: number }) => () => {
  files += 1;
  const path = join(directory, `${files}.db`);
  return openSqliteStore({ path, ...(limits !== undefined && { limits }) });
};

afterAll(() => rmSync(directory, { recursive: true }));

const engines = {
  memory: () => createMemoryStore(),
  sqlite: openSqlite(),
  // Every append moves something to the archive, so each promise is kept on both sides of the move.
  'sqlite, always moving': openSqlite({ tailBytesMax: 1, sessionsPerStep: 1 }),
};

const contracts = [
  storeContract,
  parkingContract,
  discardingContract,
  sessionsContract,
  approvalsContract,
  expiringContract,
  endedContract,
  grantsContract,
];

for (const [name, open] of Object.entries(engines)) {
  for (const contract of contracts) contract(name, open);
}
