import type { AgentEvent, LifecycleEvent, TerminalEvent } from '../../src/journal/events.ts';
import { createJournal, type Journal, type JournalOptions } from '../../src/journal/journal.ts';
import type { Gap, JournalSink, StoredEntry } from '../../src/journal/reader.ts';
import type { RunJournal } from '../../src/journal/run-journal.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { AppendOutcome, AppendPart, Store } from '../../src/stores/store.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';

export const NOW = 1_700_000_000_000;

const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

export const started: LifecycleEvent = {
  type: 'started',
  agent: 'demo',
  prompt: 'hi',
  liveness: { policy: 'cancel', grace_ms: 0 },
};

export const reasoning = (content: string): AgentEvent => ({ type: 'reasoning', content });

export const finished: TerminalEvent = {
  type: 'finished',
  ...USAGE,
  end: { by: 'agent', at: NOW, after_ms: 0, evidence: [1] },
};

/** Turns of an event loop that a test makes happen. */
export class Turns {
  #due: (() => void)[] = [];

  readonly schedule = (fn: () => void): void => {
    this.#due.push(fn);
  };

  get pending(): number {
    return this.#due.length;
  }

  /** Runs what is due now, then the promises that it settled. */
  async one(): Promise<void> {
    for (const fn of this.#due.splice(0)) fn();
    await microtasks();
  }

  /** Until nothing is due. */
  async all(): Promise<void> {
    await microtasks();
    while (this.#due.length > 0) await this.one();
  }
}

/** Every promise that is settled, and what those settle, has been heard after it. */
export const microtasks = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What a reader was given, in the order it came. */
export class RecordingSink implements JournalSink {
  readonly told: (StoredEntry | { readonly gap: Gap })[] = [];
  readonly batches: (readonly StoredEntry[])[] = [];
  failure: Error | undefined;
  /** Batches it takes before it is full. */
  room = Number.POSITIVE_INFINITY;
  onEntries: ((batch: readonly StoredEntry[]) => void) | undefined;

  entries(batch: readonly StoredEntry[]): boolean {
    this.told.push(...batch);
    this.batches.push(batch);
    this.onEntries?.(batch);
    this.room -= 1;
    return this.room > 0;
  }

  gap(gap: Gap): void {
    this.told.push({ gap });
  }

  failed(error: Error): void {
    this.failure = error;
  }

  get seqs(): (number | string)[] {
    return this.told.map((told) => ('gap' in told ? `${told.gap.from}-${told.gap.to}` : told.seq));
  }

  get json(): string[] {
    return this.told.flatMap((told) => ('gap' in told ? [] : [told.json]));
  }
}

/** How the next appends of a store under test end. */
export type AppendFate =
  /** As the engine below answers. */
  | 'taken'
  /** Nothing is written. */
  | 'refused'
  /** Everything is written and the answer is lost on the way back. */
  | 'unanswered';

/** A store whose appends fail when a test says so and answer when a test lets them. */
export interface TrickyStore extends Store {
  fates: AppendFate[];
  /** Set to hold answers back until {@link answer}. */
  held: boolean;
  /** Sees what the engine has really written, before anybody else does. */
  onWritten: (part: AppendPart, outcome: AppendOutcome) => void;
  /** Lets the append under way answer. */
  answer(): Promise<void>;
  appends: number;
}

/** Methods of the engine stay bound to it, so that private fields work. */
export function trickyStore(engine: Store = createMemoryStore()): TrickyStore {
  let release: (() => void) | undefined;
  const overrides: Partial<TrickyStore> & Pick<TrickyStore, 'append'> = {
    fates: [],
    held: false,
    appends: 0,
    onWritten: () => {},
    append(parts) {
      store.appends += 1;
      const fate = store.fates.shift() ?? 'taken';
      if (!store.held) return finish(parts, fate);
      return new Promise((resolve, reject) => {
        release = () => {
          try {
            resolve(finish(parts, fate));
          } catch (error) {
            reject(error as Error);
          }
        };
      });
    },
    async answer() {
      release?.();
      release = undefined;
      await microtasks();
    },
  };
  const finish = (parts: readonly AppendPart[], fate: AppendFate) => {
    if (fate === 'refused') throw new Error('the store is out of order');
    const outcomes = engine.append(parts) as readonly AppendOutcome[]; // The engines here are local.
    parts.forEach((part, i) => store.onWritten(part, outcomes[i] as AppendOutcome));
    if (fate === 'unanswered') throw new Error('the answer was lost');
    return outcomes;
  };
  const store = new Proxy(engine, {
    get(target, key) {
      if (key in overrides) return Reflect.get(overrides, key);
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set: (_, key, value) => Reflect.set(overrides, key, value),
  }) as TrickyStore;
  return store;
}

export interface World {
  readonly journal: Journal;
  readonly store: TrickyStore;
  readonly clock: VirtualClock;
  readonly turns: Turns;
  follow(from?: number, runId?: string): RecordingSink & { resume(): void; close(): void };
}

/** A journal whose time and turns stand still until the test moves them. */
export function journalWorld(
  options: Partial<JournalOptions> & { store?: TrickyStore } = {},
): World {
  const store = options.store ?? trickyStore();
  const clock = createVirtualClock(NOW);
  const turns = new Turns();
  const { schedule } = turns;
  const journal = createJournal({ clock, ownerId: 'me', schedule, ...options, store });
  return {
    journal,
    store,
    clock,
    turns,
    follow(from = 1, runId) {
      const sink = new RecordingSink();
      const options = { sessionId: 's', from, ...(runId !== undefined && { runId }) };
      const follower = journal.follow(options, sink);
      return Object.assign(sink, {
        resume: () => follower.resume(),
        close: () => follower.close(),
      });
    },
  };
}

/** A session with entries 1 to `count`, one a group, by a run that is still open. */
export async function writtenWorld(
  count: number,
  options: Parameters<typeof journalWorld>[0] = {},
): Promise<World & { readonly run: RunJournal }> {
  const world = journalWorld(options);
  const run = await world.journal.openRun('s', 'r');
  for (let i = 1; i <= count; i += 1) {
    run.text(`${i}`);
    await world.turns.all();
  }
  return { ...world, run };
}
