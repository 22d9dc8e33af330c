/**
 * Loaded into a server before its own code: at SIGUSR2 it tells, as a line of the log, what the
 * process holds when everything has been let go that can be. Needs `--expose-gc`.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Finalizers run after a collection, and what they let go is collected by the next one. */
const COLLECTIONS = 4;

async function tell(): Promise<void> {
  for (let n = 0; n < COLLECTIONS; n += 1) {
    globalThis.gc?.();
    await nextTurn();
  }
  const handles: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
  const heapBytes = process.memoryUsage().heapUsed;
  process.stderr.write(`${JSON.stringify({ level: 'info', msg: 'probe', heapBytes, handles })}\n`);
}

process.on('SIGUSR2', () => void tell());
