import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../src/errors.ts';
import { TERMINAL_TYPES, type Envelope, type JournalEvent } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { OpenEnds } from '../../src/journal/open-ends.ts';
import type { ManualExecution } from '../support/manual-tools.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';
import { HISTORY_WORLD, play, type Step, step } from '../support/run-history.ts';
import { RunWorld, type SimulatedRun } from '../support/run-world.ts';
import { failed, journalOf } from '../unit/journal-samples.ts';
import { type AppendFate, trickyStore } from '../unit/journal-kit.ts';

/**
 * Entries that tell an end are lost, by a store that fails or with their process, at any moment of
 * any history. What is stored in the end is sound, and says of no tool that it did not run when it
 * did.
 */

const history = fc.array(step, { minLength: 1, maxLength: 20 });
const LATER = { afterMs: 10_000_000 };

type ToolComplete = Extract<JournalEvent, { type: 'tool_complete' }>;

const completesOf = (entries: readonly Envelope[]): ToolComplete[] =>
  entries.flatMap(({ payload: { event } }) => (event.type === 'tool_complete' ? [event] : []));

/** What was executed is told as it ended, or as something that may have happened. */
function expectHonest(executions: readonly ManualExecution[], entries: readonly Envelope[]): void {
  const ends = new Map(completesOf(entries).map((event) => [event.tool_id, event]));
  for (const { context } of executions) {
    const end = ends.get(context.toolCallId);
    expect(end, `the end of ${context.toolCallId}`).toBeDefined();
    const didNotRun = end?.approval !== undefined;
    expect(didNotRun, `${context.toolCallId} is told as held back`).toBe(false);
  }
  const executed = new Set(executions.map(({ context }) => context.toolCallId));
  for (const { tool_id: id, success, approval } of ends.values()) {
    if (success && approval === undefined) expect(executed).toContain(id);
  }
}

describe('the journal of a run, cut anywhere', () => {
  it('is sound again with its open ends told and its end behind them', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.boolean(), async (steps, deafModel) => {
        const world = new RunWorld(HISTORY_WORLD);
        world.tools.deaf.add('deaf');
        world.model.deaf = deafModel;
        const run = await world.start();
        for (const next of steps) await play(world, run, next);
        await world.clock.advance(1_000_000);
        const events = await run.events();
        expect(TERMINAL_TYPES.has(events.at(-1)?.type ?? '')).toBe(true);
        for (let cut = 0; cut < events.length; cut += 1) expectClosable(events.slice(0, cut));
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});

function expectClosable(events: readonly JournalEvent[]): void {
  const ends = new OpenEnds();
  for (const event of events) ends.note(event, 1);
  const told = ends.close({ text: 'cut', reason: 'owner_lost', at: 2 }).map(({ event }) => event);
  expect(checkJournal(journalOf(...events, ...told, failed), { ended: true })).toEqual([]);
}

describe('a run whose process dies at any moment', () => {
  it('is settled by the next one, or by one after that', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.boolean(), fc.nat(6), async (steps, deafModel, turns) => {
        const host = new Host();
        const first = await host.boot(HISTORY_WORLD);
        first.tools.deaf.add('deaf');
        first.model.deaf = deafModel;
        const run = await first.start();
        for (const next of steps) await play(first, run, next);
        const open = new Set(await openExecutions(first, run));
        first.kill();
        const between = await host.boot(HISTORY_WORLD, { ...LATER, turns });
        between.kill();
        const second = await host.boot(HISTORY_WORLD, { afterMs: 2 * LATER.afterMs });
        await second.clock.advance(100_000);
        const entries = await host.entries(run.sessionId);
        expectHonest(first.tools.executions, entries);
        for (const { tool_id: id, effect } of completesOf(entries)) {
          if (open.has(id)) expect(effect, `the effect of ${id}`).toBe('unknown');
        }
        expect(second.clock.pending).toEqual([]);
        await host.expectSound();
      }),
      { numRuns: 100 },
    );
  }, 60_000);
});

/** Calls that were being executed and whose end nobody has told. */
async function openExecutions(process: HostProcess, run: SimulatedRun): Promise<string[]> {
  const told = new Set(completesOf(await process.journal(run.sessionId)).map((end) => end.tool_id));
  const executed = process.tools.executions.map(({ context }) => context.toolCallId);
  return executed.filter((id) => !told.has(id));
}

describe('a run whose store fails at any moment', () => {
  type Fault = { do: 'fail'; fates: AppendFate[] };
  const fault = fc.record({
    do: fc.constant('fail' as const),
    fates: fc.array(fc.constantFrom<AppendFate>('refused', 'unanswered'), {
      minLength: 1,
      maxLength: 8,
    }),
  });
  const faulty = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: step as fc.Arbitrary<Step | Fault> },
      { weight: 1, arbitrary: fault },
    ),
    { minLength: 1, maxLength: 20 },
  );

  it('has an end once the store is back, and lies about nothing before it (INV-37, INV-53)', async () => {
    const lost = { settledLater: 0, unclaimed: 0 };
    await fc.assert(
      fc.asyncProperty(faulty, fc.boolean(), async (steps, deafModel) => {
        const store = trickyStore();
        const host = new Host(store);
        const world = await host.boot(HISTORY_WORLD);
        world.tools.deaf.add('deaf');
        world.model.deaf = deafModel;
        const run = await world.start();
        for (const next of steps) {
          if (next.do === 'fail') store.fates = [...next.fates];
          else await play(world, run, next).catch(expectStoreFailure);
        }
        await world.clock.advance(2_000_000);
        // A process that leaves while its store is down leaves its runs to the next one.
        if (steps.some((next) => next.do === 'drain')) {
          const second = await host.boot(HISTORY_WORLD, LATER);
          await second.clock.advance(1_000_000);
        }
        const entries = await host.entries(run.sessionId);
        expectHonest(world.tools.executions, entries);
        await host.expectSound();
        const end = entries.at(-1)?.payload.event;
        expectEvidence(entries, end);
        if (world.messages('A lost run has been settled').length > 0) lost.settledLater += 1;
        if (end?.type === 'cancelled' && end.reason === 'unclaimed') lost.unclaimed += 1;
      }),
      {
        numRuns: 250,
        // Aborted by a second signal between two attempts: nothing was open, nothing explains it.
        examples: [
          [
            [
              { do: 'drain' },
              { do: 'failModel', retryable: true },
              { do: 'drain' },
              { do: 'decide', approved: false },
            ],
            false,
          ],
        ],
      },
    );
    expect(lost.settledLater).toBeGreaterThan(0);
    expect(lost.unclaimed).toBeGreaterThan(0);
  }, 60_000);
});

function expectStoreFailure(error: unknown): void {
  if (!(error instanceof StoreUnavailableError)) throw error;
}

const EXPLAINS = ['observer_detached', 'claims_exhausted', 'liveness_decided', 'stopping'];

/**
 * Whatever an end names as its evidence is there and explains an end. When nothing does (a run that
 * had nothing open when it was aborted), the end names the last entry that it had heard.
 */
function expectEvidence(entries: readonly Envelope[], end: JournalEvent | undefined): void {
  if (end === undefined || !('end' in end) || end.type === 'failed') return;
  const typeAt = (seq: number) => entries[seq - 1]?.payload.event.type;
  const named = end.end.evidence.map(typeAt);
  if (entries.some(({ payload }) => EXPLAINS.includes(payload.event.type))) {
    expect(EXPLAINS).toEqual(expect.arrayContaining(named));
  } else {
    expect(named.filter((type) => type !== undefined && type !== end.type)).toEqual(named);
    expect(named.length).toBeLessThanOrEqual(1);
  }
}
