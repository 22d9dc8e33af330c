import { unavailable } from './errors.ts';

/** Counts the open streams of a server and bounds their number. */
export class SsePool {
  readonly #streamsMax: number;
  #live = 0;

  constructor({ streamsMax }: { readonly streamsMax: number }) {
    this.#streamsMax = streamsMax;
  }

  get live(): number {
    return this.#live;
  }

  /** Lets a route refuse before it starts what the stream would show. */
  get full(): boolean {
    return this.#live >= this.#streamsMax;
  }

  /** Takes a place and returns how to give it back, once. Throws `HttpError` 503 when all are taken. */
  take(): () => void {
    if (this.full) {
      const message = `All ${this.#streamsMax} places for streams are taken; try again shortly.`;
      throw unavailable('too_many_streams', message);
    }
    this.#live += 1;
    let held = true;
    return () => {
      if (held) this.#live -= 1;
      held = false;
    };
  }
}
