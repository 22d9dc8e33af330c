import { createHash } from 'node:crypto';

/** How many notices are remembered; the oldest goes first. */
const NOTICES_MAX = 256;

/**
 * Remembers what has been told, so that a fault of a catalogue is logged once and not in every run
 * that reads it.
 */
export class Notices {
  readonly #told = new Set<string>();

  /** Whether these JSON details of this message are news. They no longer are afterwards. */
  isNew(message: string, details: unknown): boolean {
    const key = createHash('sha256')
      .update(JSON.stringify([message, details]))
      .digest('base64');
    if (this.#told.has(key)) return false;
    const [oldest] = this.#told;
    if (this.#told.size >= NOTICES_MAX && oldest !== undefined) this.#told.delete(oldest);
    this.#told.add(key);
    return true;
  }
}
