/**
 * Loaded into a server before its own code: at SIGUSR2 its database gets into trouble, at the next one
 * it is well again, and a line of the log tells. `?full` lets the file grow no more, as on a disk
 * without room; `?readonly` takes no write, as on one that was mounted so after an error. The engine
 * itself refuses, so all that follows is as on such a disk, and no rights are needed for it.
 */

import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { DatabaseSync } from 'node:sqlite';

const PRAGMAS: Readonly<Record<string, readonly [trouble: string, well: string]>> = {
  '?full': ['max_page_count = 1', 'max_page_count = 1073741823'],
  '?readonly': ['query_only = ON', 'query_only = OFF'],
};
const pragmas = PRAGMAS[new URL(import.meta.url).search];
if (pragmas === undefined) throw new Error('Name the trouble: ?full or ?readonly.');
const [trouble, well] = pragmas;

const sqlite = createRequire(import.meta.url)('node:sqlite') as {
  DatabaseSync: typeof DatabaseSync;
};
const open: DatabaseSync[] = [];

sqlite.DatabaseSync = class extends sqlite.DatabaseSync {
  constructor(...given: ConstructorParameters<typeof DatabaseSync>) {
    super(...given);
    if (String(given[0]).endsWith('.db')) open.push(this);
  }
};
syncBuiltinESMExports();

let isWell = true;
process.on('SIGUSR2', () => {
  isWell = !isWell;
  for (const db of open) if (db.isOpen) db.exec(`PRAGMA ${isWell ? well : trouble}`);
  process.stderr.write(`${JSON.stringify({ level: 'info', msg: 'disk', isWell })}\n`);
});
