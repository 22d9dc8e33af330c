import { createMemoryStore } from '../../stores/memory.ts';
import { type Store, StoreError } from '../../stores/store.ts';
import type { Envelope } from '../../journal/events.ts';
import type { WorldClock } from './world-clock.ts';

/** Calls that change what is kept; every other one only asks. */
const WRITES: ReadonlySet<string> = new Set([
  'append',
  'trim',
  'putRecord',
  'discard',
  'forgetRuns',
  'decideApproval',
  'expireApproval',
  'putGrant',
  'acquire',
  'renew',
  'release',
]);

/** What no disk is asked for. */
const AT_ONCE: ReadonlySet<string> = new Set(['ping', 'close']);

const PAGE = { entriesMax: 100_000, bytesMax: 1_000_000_000 };

export type DiskState =
  | { readonly how: 'well' | 'refuses' }
  | { readonly how: 'slow'; readonly ms: number };

interface Call {
  readonly from: DiskConnection;
  readonly isWrite: boolean;
  perform(): void;
}

/**
 * What outlives the processes of a simulated world: a store in memory that fails as disks do.
 *
 * SD1. What a disk takes its time for happens in the order in which it was asked for, whole or not at all.
 * SD2. What was confirmed is kept. Of the rest a crash keeps a prefix.
 */
export class SimDisk {
  /** What is kept, for those who look from outside. */
  readonly kept: Store = createMemoryStore();
  readonly #clock: WorldClock;
  readonly #waiting: Call[] = [];
  #state: DiskState = { how: 'well' };
  /** Writes that were refused, and such as a crash dropped. */
  refused = 0;
  dropped = 0;

  constructor(clock: WorldClock) {
    this.#clock = clock;
  }

  get state(): DiskState {
    return this.#state;
  }

  turn(state: DiskState): void {
    this.#state = state;
  }

  connect(): DiskConnection {
    return new DiskConnection(this);
  }

  /** The process behind a connection is gone: the first `keeps` of its open writes are still made. */
  cut(connection: DiskConnection, keeps: number): void {
    const own = this.#waiting.filter(({ from }) => from === connection);
    let left = keeps;
    for (const call of own) {
      this.#waiting.splice(this.#waiting.indexOf(call), 1);
      if (!call.isWrite) continue;
      if (left > 0) call.perform();
      else this.dropped += 1;
      left -= 1;
    }
  }

  call(from: DiskConnection, method: string, perform: () => unknown): unknown {
    const isWrite = WRITES.has(method);
    if (AT_ONCE.has(method)) return perform();
    if (isWrite && this.#state.how === 'refuses') {
      this.refused += 1;
      throw new StoreError('The simulated disk refuses what is written.');
    }
    if (this.#state.how !== 'slow' && this.#waiting.length === 0) return perform();
    return this.#later({ from, isWrite }, perform);
  }

  /** All entries of a session. */
  entries(sessionKey: string): readonly Envelope[] {
    return this.lines(sessionKey).map((line) => JSON.parse(line) as Envelope);
  }

  /** The same as they are stored. */
  lines(sessionKey: string): readonly string[] {
    // A store in memory answers at once.
    return (this.kept.read(sessionKey, 1, PAGE) as { lines: readonly string[] }).lines;
  }

  /** The transitions that the charts of a run took, as they are stored. */
  log(runId: string): string | undefined {
    return this.kept.getLog(runId) as string | undefined;
  }

  sessions(): readonly string[] {
    const listed = this.kept.listSessions({ limit: 10_000 }) as readonly { sessionId: string }[];
    return listed.map(({ sessionId }) => sessionId).toSorted();
  }

  #later(of: Pick<Call, 'from' | 'isWrite'>, perform: () => unknown): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    const call: Call = { ...of, perform: () => answer.resolve(attempt(perform)) };
    this.#waiting.push(call);
    const ms = this.#state.how === 'slow' ? this.#state.ms : 0;
    this.#clock.after(ms, () => this.#performUpTo(call));
    return answer.promise;
  }

  /** A call that was asked for when the disk was slower is made before those behind it. */
  #performUpTo(last: Call): void {
    const at = this.#waiting.indexOf(last);
    for (const call of this.#waiting.splice(0, at + 1)) call.perform();
  }
}

/** A promise resolves to it, or rejects by it. */
function attempt(perform: () => unknown): unknown {
  try {
    return perform();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** The disk as one process has it. */
export class DiskConnection {
  readonly store: Store;
  readonly #disk: SimDisk;
  #dead = false;

  constructor(disk: SimDisk) {
    this.#disk = disk;
    this.store = new Proxy(disk.kept, {
      get: (target, key) => {
        if (key === 'close') return () => {};
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) =>
          this.#call(String(key), () => Reflect.apply(value, target, args));
      },
    });
  }

  /** From here on nothing of the process reaches the disk, but for what is still made of its open writes. */
  kill(keeps: number): void {
    this.#dead = true;
    this.#disk.cut(this, keeps);
  }

  #call(method: string, perform: () => unknown): unknown {
    if (this.#dead) throw new StoreError('The simulated process is gone.');
    return this.#disk.call(this, method, perform);
  }
}
