import { Worker } from 'node:worker_threads';
import type { SqliteFile } from './sqlite-file.ts';

/** SQLite's own rule for when to move the write-ahead log into the database, in pages. */
const CHECKPOINT_PAGES = 1_000;

/** The same file beside this one, whether it runs from source or was built. */
const WORKER_URL = new URL(
  import.meta.url.replace(/checkpointer\.(ts|js)$/, 'checkpoint-worker.$1'),
);

/**
 * Moves the write-ahead log into the database in a thread of its own, because that waits for the
 * disk. The thread starts with the first need; should it die, SQLite's own way takes over.
 *
 * CP1. One checkpoint is under way at a time.
 */
export class SqliteCheckpointer {
  readonly #file: SqliteFile;
  #worker: Worker | undefined;
  #pages = 0;
  #state: 'idle' | 'working' | 'off' = 'idle';

  constructor(file: SqliteFile) {
    this.#file = file;
    file.checkpointAfter(0);
  }

  /** The log has grown by about so many pages. */
  wrote(pages: number): void {
    this.#pages += pages;
    if (this.#pages < CHECKPOINT_PAGES || this.#state !== 'idle') return;
    this.#pages = 0;
    this.#state = 'working';
    this.#worker ??= this.#start();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
    this.#worker.postMessage('checkpoint');
  }

  /** Waits until the thread has let go of the file. */
  async close(): Promise<void> {
    this.#state = 'off';
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(WORKER_URL, { workerData: { path: this.#file.path } });
    worker.unref();
    worker.on('message', () => {
      if (this.#state === 'working') this.#state = 'idle';
    });
    worker.on('error', () => this.#giveUp());
    return worker;
  }

  #giveUp(): void {
    if (this.#state === 'off') return;
    this.#state = 'off';
    this.#file.checkpointAfter(CHECKPOINT_PAGES);
  }
}
