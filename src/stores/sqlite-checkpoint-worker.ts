import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * The log starts over only when a checkpoint has caught up with the writer. Beyond this many pages
 * (256 MiB) the writer is made to wait for that, else a log under constant load grows for ever.
 */
const LOG_PAGES_MAX = 65_536;

/** How long a checkpoint waits for writers and readers to let it in. */
const BUSY_MS = 1_000;

const { path } = workerData as { path: string };
const db = new DatabaseSync(path, { timeout: BUSY_MS });
const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
const restart = db.prepare('PRAGMA wal_checkpoint(RESTART)');

/** Each message asks for one checkpoint; the answer says that it is over. */
parentPort?.on('message', () => {
  const { log, checkpointed } = passive.get() as { log: number; checkpointed: number };
  if (log > LOG_PAGES_MAX && checkpointed < log) restart.get();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
  parentPort?.postMessage('done');
});
