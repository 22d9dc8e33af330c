import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Retention, type RetentionLimits, startRetention } from '../../src/retention.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import type { AppendPart, Lease, Store, TerminalLine } from '../../src/stores/store.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

const directory = mkdtempSync(join(tmpdir(), 'runwarden-retention-'));
export const removeDirectory = (): void => rmSync(directory, { recursive: true });
let files = 0;

const openSqlite = (limits?: { tailBytesMax: number; sessionsPerStep: number }): Store => {
  files += 1;
  const path = join(directory, `${files}.db`);
  return openSqliteStore({ path, ...(limits !== undefined && { limits }) });
};

export const ENGINES: readonly (readonly [string, () => Store])[] = [
  ['memory', () => createMemoryStore()],
  ['sqlite', () => openSqlite()],
  ['sqlite, always moving', () => openSqlite({ tailBytesMax: 1, sessionsPerStep: 1 })],
];

export const NOW = 1_700_000_000_000;
export const DAY_MS = 86_400_000;

/** A run id as one that begins `daysAgo` gets it; `n` tells those of one millisecond apart. */
export function runIdOf(daysAgo: number, n = 0): string {
  const hex = (NOW - daysAgo * DAY_MS).toString(16).padStart(12, '0');
  const last = n.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${last}`;
}

/** Ten characters of JSON. */
export const LINE = '"12345678"';

export const OFF: RetentionLimits = { retentionMs: 0, sessionBytesMax: 0, totalBytesMax: 0 };

export interface RetentionWorld {
  readonly store: Store;
  readonly clock: ReturnType<typeof createVirtualClock>;
  readonly retention: Retention;
  readonly pins: Map<string, number>;
  readonly logged: string[];
  /** One line of ten characters a part, so that each is trimmed by itself where nothing moves. */
  lines(sessionId: string, count: number): Promise<void>;
  /** A run that lives: its first line, and the record that says where it is. */
  begin(sessionId: string, runId: string, rest?: Partial<AppendPart>): Promise<void>;
  end(sessionId: string, runId: string, rest?: Omit<TerminalLine, 'runId' | 'line'>): Promise<void>;
  floor(sessionId: string): Promise<number>;
  runIds(): Promise<readonly string[]>;
}

export interface WorldOptions {
  readonly limits: Partial<RetentionLimits>;
  readonly trim?: (sessionId: string, through: number) => number | Promise<number>;
}

/** A store and what keeps it within limits. */
export function retentionWorld(
  store: Store,
  { limits, trim = (id, through) => store.trim(id, through) as number }: WorldOptions,
): RetentionWorld {
  const clock = createVirtualClock(NOW);
  const pins = new Map<string, number>();
  const logged: string[] = [];
  const log = {
    info: (_: object, message: string) => void logged.push(`info: ${message}`),
    warn: (_: object, message: string) => void logged.push(`warn: ${message}`),
  };
  const livePin = (sessionId: string) => pins.get(sessionId);
  const all = { ...OFF, ...limits };
  const retention = startRetention({ store, trim, clock, log, limits: all, livePin });
  return { store, clock, retention, pins, logged, ...writerOf(store) };
}

type Writes = Pick<RetentionWorld, 'lines' | 'begin' | 'end' | 'floor' | 'runIds'>;

function writerOf(store: Store): Writes {
  const leases = new Map<string, Lease>();
  const leaseOf = async (key: string): Promise<Lease> => {
    const known = leases.get(key);
    if (known !== undefined) return known;
    const outcome = await store.acquire({ key, owner: 'me', now: NOW, ttlMs: 1_000 });
    if (!outcome.acquired) throw new Error(`${key} is held.`);
    leases.set(key, outcome.lease);
    return outcome.lease;
  };
  const append = async (sessionId: string, part: (seq: number) => Partial<AppendPart>) => {
    const firstSeq = (await store.head(sessionId)) + 1;
    const lease = await leaseOf(sessionId);
    const base = { lease, firstSeq, count: 1, body: LINE };
    const [outcome] = await store.append([{ ...base, ...part(firstSeq) }]);
    if (outcome?.status !== 'written') throw new Error(`It was ${outcome?.status}.`);
  };
  return {
    lines: async (sessionId, count) => {
      for (let i = 0; i < count; i += 1) await append(sessionId, () => ({}));
    },
    begin: (sessionId, runId, rest) =>
      append(sessionId, (seq) => ({
        records: [{ runId, record: JSON.stringify({ first_seq: seq }) }],
        ...rest,
      })),
    end: (sessionId, runId, rest) =>
      append(sessionId, () => ({ count: 0, body: '', terminal: { runId, line: LINE, ...rest } })),
    floor: async (sessionId) =>
      (await store.read(sessionId, 1, { entriesMax: 1, bytesMax: 1 })).floor,
    runIds: async () => (await store.listRecords({ limit: 1_000 })).map(({ runId }) => runId),
  };
}
