import type { Store } from '../stores/store.ts';
import { Cursor, type CursorDeps } from './cursor.ts';
import type { Follower, FollowOptions, JournalSink, StoredEntry } from './reader.ts';

interface Topic {
  readonly cursors: Set<Cursor>;
  readonly unsubscribe: () => void;
}

export interface HubDeps extends CursorDeps {
  readonly store: Store;
  /** What the store is known to have of a session whose only writer is here; else undefined. */
  readonly durable: (sessionId: string) => number | undefined;
}

/** Gives what the store took to those who follow the session. */
export class Hub {
  readonly #deps: HubDeps;
  readonly #topics = new Map<string, Topic>();

  constructor(deps: HubDeps) {
    this.#deps = deps;
  }

  follow(options: FollowOptions, sink: JournalSink): Follower {
    const { sessionId, from } = options;
    if (!Number.isSafeInteger(from)) {
      throw new RangeError(`"from" is ${from}; give the first seq wanted, a whole number.`);
    }
    const cursor: Cursor = new Cursor(this.#deps, options, sink, () =>
      this.#leave(sessionId, cursor),
    );
    this.#topic(sessionId).cursors.add(cursor);
    cursor.start(this.#deps.durable(sessionId));
    return cursor;
  }

  /** Entries that the store has taken, dense and in order. */
  publish(sessionId: string, entries: readonly StoredEntry[]): void {
    const topic = this.#topics.get(sessionId);
    if (topic !== undefined) for (const cursor of topic.cursors) cursor.push(entries);
  }

  close(): void {
    for (const { cursors } of this.#topics.values()) for (const cursor of cursors) cursor.close();
  }

  #topic(sessionId: string): Topic {
    const known = this.#topics.get(sessionId);
    if (known !== undefined) return known;
    const cursors = new Set<Cursor>();
    const unsubscribe = this.#deps.store.bus.subscribe(sessionId, (head) => {
      for (const cursor of cursors) cursor.grown(head);
    });
    const topic = { cursors, unsubscribe };
    this.#topics.set(sessionId, topic);
    return topic;
  }

  #leave(sessionId: string, cursor: Cursor): void {
    const topic = this.#topics.get(sessionId);
    if (topic === undefined || !topic.cursors.delete(cursor) || topic.cursors.size > 0) return;
    this.#topics.delete(sessionId);
    topic.unsubscribe();
  }
}
