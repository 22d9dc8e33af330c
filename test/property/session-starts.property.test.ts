import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SupervisorError } from '../../src/errors.ts';
import type { BusyStrategy } from '../../src/handle.ts';
import type { Envelope } from '../../src/journal/events.ts';
import { TERMINAL_TYPES } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { RunWorld } from '../support/run-world.ts';

/**
 * Many start in one session, some at the same moment and some later, over a store that answers when it
 * likes. Whoever is not parallel has the session to himself; everybody is answered and nobody waits for
 * ever (INV-54).
 */

interface Asked {
  readonly onBusy: BusyStrategy;
  /** Turns of the event loop until the next one asks. */
  readonly gap: number;
  /** What happens to somebody before that. */
  readonly next: 'nothing' | 'finish' | 'cancel' | 'park';
}

const asked: fc.Arbitrary<Asked> = fc.record({
  onBusy: fc.constantFrom<BusyStrategy>('reject', 'enqueue', 'enqueue', 'interrupt', 'parallel'),
  gap: fc.constantFrom(0, 0, 0, 1, 2, 5),
  next: fc.constantFrom('nothing' as const, 'nothing' as const, 'finish', 'cancel', 'park'),
});

/** A store whose answers take so many turns as the numbers say, in turn. */
function slowStore(delays: readonly number[]): Store {
  let at = 0;
  const store = createMemoryStore();
  const slow = new Set(['acquire', 'head', 'getRecord', 'append', 'release', 'getTranscript']);
  return new Proxy(store, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      if (!slow.has(String(key))) return value.bind(target) as unknown;
      return async (...args: unknown[]) => {
        const turns = delays[at++ % delays.length] ?? 0;
        for (let turn = 0; turn < turns; turn += 1) await nextTurn();
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function settle(world: RunWorld): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await world.clock.settle();
}

const REFUSALS = new Set(['session_busy', 'rate_limited']);

describe('many starts in one session', () => {
  it('are all answered, one at a time unless parallel, and all end', async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(asked, { minLength: 2, maxLength: 14, size: 'max' }),
        fc.array(fc.nat(3), { minLength: 1, maxLength: 7 }),
        async (all, delays) => {
          const world = new RunWorld({ store: slowStore(delays), limits: { firstChunkMs: 0 } });
          const parallel = new Set<string>();
          const answers: Promise<string>[] = [];
          for (const { onBusy, gap, next } of all) {
            answers.push(startOne(world, onBusy, parallel));
            for (let turn = 0; turn < gap; turn += 1) await nextTurn();
            await happen(world, next);
          }
          await settle(world);
          for (let round = 0; round <= all.length; round += 1) {
            for (const turn of world.model.turns) turn.say('x').finish();
            await settle(world);
          }
          for (const answer of await Promise.all(answers)) {
            seen.set(answer, (seen.get(answer) ?? 0) + 1);
          }
          const { data } = await world.supervisor.listRuns({ limit: 100 });
          expect(data.filter(({ ended_at }) => ended_at === null)).toEqual([]);
          expect(data.filter(({ state }) => state === 'failed')).toEqual([]);
          expectAlone(await world.journal('one'), parallel);
          expect(checkJournal(await world.journal('one'), { ended: true })).toEqual([]);
          expect(world.clock.pending, 'timers that survive').toEqual([]);
          expect((await world.supervisor.getSession('one'))?.live ?? []).toEqual([]);
        },
      ),
      { numRuns: 250 },
    );
    expect([...seen.keys()].toSorted()).toEqual(['queued', 'running', 'session_busy']);
  }, 60_000);
});

async function startOne(
  world: RunWorld,
  onBusy: BusyStrategy,
  parallel: Set<string>,
): Promise<string> {
  try {
    const { runId, state } = await world.supervisor.start({
      agent: 'agent',
      sessionId: 'one',
      messages: [{ role: 'user', content: 'Hello' }],
      prompt: 'Hello',
      streaming: true,
      liveness: { policy: 'continue', graceMs: 0 },
      onBusy,
      requestHeaders: {},
    });
    if (onBusy === 'parallel') parallel.add(runId);
    return state;
  } catch (error) {
    if (!(error instanceof SupervisorError) || !REFUSALS.has(error.code)) throw error;
    return error.code;
  }
}

async function happen(world: RunWorld, next: Asked['next']): Promise<void> {
  if (next === 'nothing') return;
  if (next === 'finish') {
    world.model.turns.findLast(({ over, signal }) => !over && !signal.aborted)?.finish();
    return;
  }
  const { data } = await world.supervisor.listRuns({ limit: 100 });
  const run = data.find(({ ended_at }) => ended_at === null);
  // Not awaited: it is one more thing that goes on at the same time.
  if (run !== undefined) void world.supervisor[next](run.run_id, {}).catch(() => {});
}

/** From its `started` to its terminal entry nobody else but parallel runs is between theirs. */
function expectAlone(entries: readonly Envelope[], parallel: ReadonlySet<string>): void {
  let alone: string | undefined;
  for (const { run_id: runId, payload } of entries) {
    if (runId === undefined || parallel.has(runId)) continue;
    if (payload.event.type === 'started') {
      expect(alone, `${runId} starts while another one is at work`).toBeUndefined();
      alone = runId;
    } else if (TERMINAL_TYPES.has(payload.event.type) && alone === runId) alone = undefined;
  }
}
