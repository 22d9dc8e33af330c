/**
 * Runs reads one after the other, so that what they have in hand is not held many times at once.
 *
 * RQ1. A read that has not begun is shared by all who ask for the same: none of them may have asked
 *      after it began.
 * RQ2. A read that fails fails those who asked for it, and holds up nobody else.
 */
export class ReadQueue<Found> {
  /** Not begun, by what they read. */
  readonly #waiting = new Map<string, Promise<Found>>();
  /** Ends when every read that was asked for has ended; never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  /** `key` says all that the answer depends on. */
  read(key: string, find: () => Promise<Found>): Promise<Found> {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return waiting;
    const found = this.#last.then(() => {
      this.#waiting.delete(key);
      return find();
    });
    this.#waiting.set(key, found);
    this.#last = found.catch(() => {});
    return found;
  }
}
