import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import { createJournal } from '../../src/journal/journal.ts';
import { createLog } from '../../src/log.ts';
import { type ParkedExpiry, startParkedExpiry } from '../../src/parked-expiry.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import type { Lease, Store } from '../../src/stores/store.ts';
import { WatchedStore } from '../../src/stores/watched-store.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';

const directory = mkdtempSync(join(tmpdir(), 'runwarden-expiry-'));
export const removeDirectory = (): void => rmSync(directory, { recursive: true });
let files = 0;

/** Opens another connection to the same store at each call, or gives the same one. */
export const ENGINES: readonly (readonly [string, () => () => Store])[] = [
  [
    'memory',
    () => {
      const store = createMemoryStore();
      return () => store;
    },
  ],
  [
    'sqlite',
    () => {
      files += 1;
      const path = join(directory, `${files}.db`);
      return () => openSqliteStore({ path });
    },
  ],
];

export const NOW = 1_800_000_000_000;

export interface Asked {
  readonly decisionId: string;
  readonly afterMs: number;
}

export interface ExpiryWorld {
  /** What the process sees of the store; refusing, it answers nothing. */
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly expiry: ParkedExpiry;
  readonly broughtBack: readonly string[];
  /** Decision ids that it heard of as closed. */
  readonly closed: readonly string[];
  readonly warnings: readonly string[];
  readonly refusing: Set<keyof Store>;
  park(runId: string, asked: readonly Asked[], how?: { automatic: boolean }): Promise<void>;
  /** A run goes on with a parked one. */
  goOn(runId: string): Promise<void>;
  outcome(decisionId: string): Promise<ApprovalOutcome | undefined>;
}

/** A process on a store, with a clock of its own. Each run has a session of its own. */
export function expiryWorld(store: Store, { startMs = NOW } = {}): ExpiryWorld {
  const clock = createVirtualClock(startMs);
  const [broughtBack, closed, warnings]: [string[], string[], string[]] = [[], [], []];
  const refusing = new Set<keyof Store>();
  const watched = new WatchedStore(refuser(store, refusing), {
    onRefused: () => {},
    onTaken: () => {},
    onExpiring: () => expiry.look(),
  });
  const write = (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg);
  const expiry: ParkedExpiry = startParkedExpiry({
    journal: createJournal({ store: watched, clock, ownerId: 'me' }),
    clock,
    log: createLog({ level: 'warn', destination: { write } }),
    bringBack: ({ runId }) => void broughtBack.push(runId),
    onClosed: ({ decisionId }) => void closed.push(decisionId),
  });
  return {
    store: watched,
    clock,
    expiry,
    broughtBack,
    closed,
    warnings,
    refusing,
    async park(runId, asked, { automatic } = { automatic: true }) {
      const approvals = asked.map(({ decisionId, afterMs }) => ({
        decisionId,
        expiresAt: NOW + afterMs,
        record: JSON.stringify({ agent: 'a', requestedAt: NOW - 1_000 }),
      }));
      const terminal = { runId, line: '1', parked: { checkpoint: '{}', automatic, approvals } };
      await append(watched, runId, { terminal });
    },
    async goOn(runId) {
      await append(watched, runId, { continues: { runId, by: `${runId}, next` } });
    },
    async outcome(decisionId) {
      const text = (await store.getApproval(decisionId))?.outcome;
      return text === undefined ? undefined : (JSON.parse(text) as ApprovalOutcome);
    },
  };
}

async function append(store: Store, sessionId: string, rest: object): Promise<void> {
  const lease = await acquire(store, sessionId);
  const firstSeq = (await store.head(sessionId)) + 1;
  const [outcome] = await store.append([{ lease, firstSeq, count: 0, body: '', ...rest }]);
  if (outcome?.status !== 'written') throw new Error(`refused: ${outcome?.status}`);
}

async function acquire(store: Store, key: string): Promise<Lease> {
  const outcome = await store.acquire({ key, owner: 'me', now: NOW, ttlMs: 1_000 });
  if (!outcome.acquired) throw new Error(`${key} is held`);
  return outcome.lease;
}

const refuser = (store: Store, refusing: ReadonlySet<keyof Store>): Store =>
  new Proxy(store, {
    get: (target, key: keyof Store) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (refusing.has(key)) throw new Error(`no ${key}`);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
