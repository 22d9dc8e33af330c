import { expect } from 'vitest';
import type { Envelope } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import type { Ids } from '../../src/ids.ts';
import { createLog } from '../../src/log.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { createCountingIds } from '../../src/testing/ids.ts';
import { RunWorld, type RunWorldOptions } from './run-world.ts';
import { checkAtEnd, isChecked } from './sound-journals.ts';

const PAGE = { entriesMax: 100_000, bytesMax: 100_000_000 };
const TURNS_TO_REST = 12;
const START_MS = 1_800_000_000_000;

export interface LogLine {
  readonly msg: string;
  readonly level: string;
  readonly [field: string]: unknown;
}

/** A process of a {@link Host}: a supervisor with its own clock and its own connection. */
export class HostProcess extends RunWorld {
  readonly log: readonly LogLine[];
  readonly #connection: Connection;
  #answered = 0;

  constructor(connection: Connection, log: LogLine[], options: RunWorldOptions) {
    const write = (line: string) => void log.push(JSON.parse(line) as LogLine);
    super({
      ...options,
      store: connection.store,
      log: createLog({ level: 'info', destination: { write } }),
    });
    this.log = log;
    this.#connection = connection;
  }

  /** From here on nothing of it reaches the store; time stands still for it. */
  kill(): void {
    this.#connection.dead = true;
  }

  /** Plays whatever it asks for, approvals included, until it asks for nothing more. */
  async playOn(): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      const asked = await this.#asked();
      quiet = asked === this.#answered ? quiet + 1 : 0;
      this.#answered = asked;
      for (const execution of this.tools.executions) execution.answer('of the next');
      await this.clock.settle();
      for (const turn of this.model.turns) turn.say('Done.').finish();
      await this.clock.settle();
    }
  }

  /** Approves what waits, and counts all that was ever asked for. */
  async #asked(): Promise<number> {
    const { data } = await this.supervisor.listApprovals({ limit: 100, state: 'pending' });
    for (const { decision_id: id } of data) void this.supervisor.decide(id, { approved: true });
    await this.clock.settle();
    return data.length + this.tools.executions.length + this.model.turns.length;
  }

  messages(msg: string): readonly LogLine[] {
    return this.log.filter((line) => line.msg.startsWith(msg));
  }
}

interface Connection {
  readonly store: Store;
  dead: boolean;
}

/** Processes that come and go on one store. */
export class Host {
  readonly store: Store;
  readonly #ids: Ids;

  /** `ids` are to go on where those of a process that is gone ended. */
  constructor(store: Store = createMemoryStore(), ids: Ids = createCountingIds()) {
    this.store = store;
    checkAtEnd(store);
    this.#ids = ids;
  }

  /**
   * Starts a process when `afterMs` have passed since the first, and lets it come to rest, or lets
   * it have so many turns of the event loop.
   */
  async boot(
    options: RunWorldOptions = {},
    { afterMs = 0, turns = TURNS_TO_REST } = {},
  ): Promise<HostProcess> {
    const connection = connect(this.store);
    const startMs = START_MS + afterMs;
    const process = new HostProcess(connection, [], { ...options, ids: this.#ids, startMs });
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
    return process;
  }

  /** What the store has of a session. */
  async entries(sessionId: string): Promise<readonly Envelope[]> {
    const { lines } = await this.store.read(sessionId, 1, PAGE);
    return lines.map((line) => JSON.parse(line) as Envelope);
  }

  /** Every run has ended, and its journal keeps the invariants. */
  async expectSound(): Promise<void> {
    const runs = await this.store.listRecords({ limit: 10_000 });
    for (const sessionId of new Set(runs.map((run) => run.sessionId))) {
      const violations = checkJournal(await this.entries(sessionId), { ended: true });
      expect(violations, `the journal of ${sessionId}`).toEqual([]);
    }
    expect(runs.filter(({ settledSeq }) => settledSeq === undefined)).toEqual([]);
    isChecked(this.store);
  }
}

function connect(store: Store): Connection {
  const connection = { store, dead: false };
  connection.store = new Proxy(store, {
    get: (target, key) => {
      if (key === 'close') return () => {};
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (connection.dead) throw new Error('the process is gone');
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  return connection;
}
