import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { openSqliteStore } from '../../src/stores/sqlite.ts';
import type { AppendPart, Lease, Store } from '../../src/stores/store.ts';
import { type Observed, observe, StoreModel } from './stores-model.ts';

/**
 * Runs begin, park, go on, are discarded, end and are forgotten in any order, approvals are decided meanwhile, and
 * writers are stale or wrong about the head: every engine answers as one that is too plain to be wrong.
 */

const directory = mkdtempSync(join(tmpdir(), 'runwarden-store-property-'));
afterAll(() => rmSync(directory, { recursive: true }));
let files = 0;

const SESSIONS = ['acme\u001fa', 'b'] as const;
const RUNS_A_SESSION = 6;
const RUN_IDS = Array.from({ length: SESSIONS.length * RUNS_A_SESSION }, (_, i) => `r${i + 10}`);
const DECISIONS = ['d1', 'd2', 'd3'];
const KEYS = ['k1', 'k2'];

const OBSERVED: Observed = {
  keys: { sessions: SESSIONS, runs: RUN_IDS, starts: KEYS },
  now: 5,
};

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const rarely = fc.integer({ min: 0, max: 11 }).map((n) => n === 0);
const run = fc.nat({ max: RUNS_A_SESSION - 1 });
const decisionId = fc.constantFrom(...DECISIONS);

const parked = fc.record({
  automatic: fc.boolean(),
  decisionIds: fc.uniqueArray(decisionId, { maxLength: 2 }),
});

/** What one session has in a group. Runs are counted within their session. */
const part = fc.record({
  lines: fc.nat({ max: 2 }),
  isStale: rarely,
  isAhead: rarely,
  record: maybe(fc.record({ run, key: maybe(fc.constantFrom(...KEYS)) })),
  checkpoints: fc.uniqueArray(run, { maxLength: 2 }),
  continues: maybe(fc.record({ run, by: run })),
  ended: fc.array(fc.record({ decisionId, run }), { maxLength: 2 }),
  terminal: maybe(
    fc.record({ run, parked: maybe(parked), hasTexts: fc.boolean(), hasRecord: fc.boolean() }),
  ),
});
type PartSpec = typeof part extends fc.Arbitrary<infer T> ? T : never;

const operation = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('append'), parts: fc.tuple(part, part) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('decide'), decisionId, now: fc.nat({ max: 9 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('expire'),
      expired: decisionId,
      at: fc.nat({ max: 9 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('grant'),
      grant: fc.record({
        sessionId: fc.constantFrom(...SESSIONS, 'nobody'),
        agent: fc.constantFrom('a', 'b'),
        toolName: fc.constantFrom('t', 'u'),
        matchedPattern: fc.constantFrom('*', 't'),
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('discard'),
      runId: fc.constantFrom(...RUN_IDS),
      keeps: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('forget'),
      before: fc.constantFrom(...RUN_IDS, 's'),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('trim'), session: fc.constantFrom(...SESSIONS) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen') }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Writes the same to a store and to the model, and compares what they answer. */
class Pair {
  readonly model = new StoreModel();
  readonly #open: () => Store;
  readonly #leases = new Map<string, Lease>();
  #step = 0;
  store: Store;

  constructor(open: () => Store) {
    this.#open = open;
    this.store = open();
  }

  async play(operation: Operation): Promise<void> {
    this.#step += 1;
    const { store, model } = this;
    if ('parts' in operation) return this.#append(operation.parts);
    if ('now' in operation) {
      const given = [operation.decisionId, `"o${this.#step}"`, operation.now] as const;
      expect(await store.decideApproval(...given)).toEqual(model.decide(...given));
    } else if ('expired' in operation) {
      const given = [operation.expired, `"o${this.#step}"`, operation.at] as const;
      expect(await store.expireApproval(...given)).toBe(model.expire(...given));
    } else if ('grant' in operation) {
      const grant = { ...operation.grant, decisionId: `d${this.#step}`, at: this.#step };
      await store.putGrant(grant);
      model.putGrant(grant);
    } else if ('runId' in operation) {
      const { runId, keeps } = operation;
      const outcome = keeps ? `"o${this.#step}"` : undefined;
      expect(await store.discard(runId, outcome)).toBe(model.discard(runId, outcome));
    } else if ('before' in operation) {
      const { before, limit } = operation;
      expect(await store.forgetRuns(before, limit)).toBe(model.forget(before, limit));
    } else if ('session' in operation) {
      const head = await store.head(operation.session);
      expect(await store.trim(operation.session, head)).toBe(head);
      model.trimAll(operation.session);
    } else await this.#reopen();
  }

  async #append(specs: readonly [PartSpec, PartSpec]): Promise<void> {
    const parts: AppendPart[] = [];
    for (const [at, spec] of specs.entries()) parts.push(await this.#part(at, spec));
    const expected = parts.map((made, at) => this.model.append(made, specs[at]?.isStale === true));
    expect(await this.store.append(parts)).toEqual(expected);
  }

  async #part(at: number, spec: PartSpec): Promise<AppendPart> {
    const text = `"step ${this.#step}"`;
    const id = (n: number) => RUN_IDS[n * SESSIONS.length + at] as string;
    const { lines, record, checkpoints, continues, ended, terminal } = spec;
    const lease = await this.#lease(SESSIONS[at] as string);
    const firstSeq = this.model.head(lease.key) + (spec.isAhead ? 2 : 1);
    const startKey =
      record?.key === undefined ? {} : { startKey: { key: record.key, digest: text } };
    return {
      lease: spec.isStale ? { ...lease, generation: lease.generation - 1 } : lease,
      firstSeq,
      count: lines,
      body: Array.from({ length: lines }, () => text).join('\n'),
      ...(record && { records: [{ runId: id(record.run), record: text, ...startKey }] }),
      checkpoints: checkpoints.map((n) => ({ runId: id(n), checkpoint: text })),
      endedApprovals: ended.map((one) => ({
        decisionId: one.decisionId,
        runId: id(one.run),
        record: text,
        outcome: `"o${this.#step}"`,
        expiresAt: this.#step,
      })),
      ...(continues && { continues: { runId: id(continues.run), by: id(continues.by) } }),
      ...(terminal && { terminal: this.#terminal(id(terminal.run), terminal, text) }),
    };
  }

  #terminal(
    runId: string,
    { parked: end, hasTexts, hasRecord }: NonNullable<PartSpec['terminal']>,
    text: string,
  ): NonNullable<AppendPart['terminal']> {
    const approvals = (end?.decisionIds ?? []).map((id) => ({
      decisionId: id,
      record: text,
      expiresAt: 5 + (this.#step % 3),
    }));
    return {
      runId,
      line: text,
      ...(hasRecord && { record: text }),
      ...(hasTexts && { transcript: text, log: text }),
      ...(end && { parked: { checkpoint: text, automatic: end.automatic, approvals } }),
    };
  }

  async #lease(key: string): Promise<Lease> {
    const known = this.#leases.get(key);
    if (known !== undefined) return known;
    const outcome = await this.store.acquire({ key, owner: 'me', now: 0, ttlMs: 1_000 });
    if (!outcome.acquired) throw new Error(`${key} is held.`);
    this.#leases.set(key, outcome.lease);
    return outcome.lease;
  }

  async #reopen(): Promise<void> {
    if (this.store.backend === 'memory') return;
    await this.store.close();
    this.store = this.#open();
  }
}

/** A file of its own, which a second call of the answer opens again. */
function sqliteFile(limits?: { tailBytesMax: number; sessionsPerStep: number }): () => Store {
  files += 1;
  const path = join(directory, `${files}.db`);
  return () => openSqliteStore({ path, ...(limits !== undefined && { limits }) });
}

describe.each([
  ['memory', () => () => createMemoryStore(), 400],
  ['sqlite', () => sqliteFile(), 60],
  ['sqlite, moving now and then', () => sqliteFile({ tailBytesMax: 60, sessionsPerStep: 1 }), 60],
] as const)('%s store', (_name, opener, numRuns) => {
  it('answers as the model does, whatever is written in whatever order', async () => {
    const property = fc.asyncProperty(
      fc.array(operation, { minLength: 5, maxLength: 40 }),
      async (operations) => {
        const pair = new Pair(opener());
        try {
          for (const next of operations) {
            await pair.play(next);
            expect(await observe(pair.store, OBSERVED)).toEqual(pair.model.observe(OBSERVED));
          }
        } finally {
          await pair.store.close();
        }
      },
    );
    await fc.assert(property, { numRuns });
  });
});
