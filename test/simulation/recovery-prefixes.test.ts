import { beforeAll, describe, expect, it } from 'vitest';
import type { LivenessPolicy } from '../../machines/vocabulary.ts';
import type { Envelope } from '../../src/journal/events.ts';
import { TERMINAL_TYPES } from '../../src/journal/events.ts';
import type { Ids } from '../../src/ids.ts';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import { createCountingIds } from '../../src/testing/ids.ts';
import { Host } from '../support/recovery-host.ts';
import { RunWorld, type RunWorldOptions } from '../support/run-world.ts';
import { RecordedStore } from '../support/store-prefix.ts';
import { objections } from '../support/strict-pairing.ts';

/**
 * A run is recorded once. Then its process dies after each change that it made to the store, and
 * another one finds exactly what was there.
 */

const AGENT: RunWorldOptions = {
  tools: ['once', 'again', 'danger'],
  requireApproval: ['danger'],
  idempotentTools: ['again'],
  // The recorded run and the next process have the same store clock.
  approvalTimeoutMs: 600_000,
};
const EXPIRED = { afterMs: JOURNAL_LIMITS.leaseTtlMs };

interface Recording {
  readonly ids: Ids;
  readonly recorded: RecordedStore;
  /** Ids of the calls that had been executed when the change of that place was about to be made. */
  readonly executedBefore: readonly ReadonlySet<string>[];
}

/** A run with every kind of call, to its end. */
async function record(policy: LivenessPolicy): Promise<Recording> {
  const executedBefore: Set<string>[] = [];
  const executed = () => world.tools.executions.map(({ context }) => context.toolCallId);
  const recorded = new RecordedStore((at) => {
    executedBefore[at] = new Set(world === undefined ? [] : executed());
  });
  let world: RunWorld = undefined as unknown as RunWorld; // The store is used before it is there.
  const ids = createCountingIds();
  world = new RunWorld({ ...AGENT, ids, store: recorded.store });
  const run = await world.start({ sessionId: 'one', liveness: { policy, graceMs: 0 } });
  world.model.turn.say('Let me ').say('see.').call('once', {}, 'o').call('again', {}, 'a');
  world.model.turn.finish('tool_calls');
  await world.clock.settle();
  world.tools.last('again').answer('again done');
  await world.clock.settle();
  world.tools.last('once').answer('once done');
  await world.clock.settle();
  world.model.turn.say('And now').call('danger', { path: 'x' }, 'd').call('once', {}, 'p');
  world.model.turn.finish('tool_calls');
  await world.clock.settle();
  world.tools.last('once').answer('once more');
  await world.clock.settle();
  const { decision_id: id } = await run.event('approval_pending');
  await Promise.all([world.supervisor.decide(id, { approved: true }), world.clock.settle()]);
  await world.clock.settle();
  world.tools.last('danger').answer('danger done');
  await world.clock.settle();
  world.model.turn.say('All ').say('done.').finish();
  await world.clock.settle();
  await world.expectSound();
  executedBefore.push(new Set(executed()));
  return { ids, recorded, executedBefore };
}

const typesOf = (entries: readonly Envelope[]): readonly string[] =>
  entries.map(({ payload }) => payload.event.type);

/** Whether the run waits for a person and for nothing else but what may be given up. */
function isWaiting(entries: readonly Envelope[]): boolean {
  const types = typesOf(entries);
  return types.includes('approval_requested') && !types.includes('approval_completed');
}

const cases = (['cancel', 'continue', 'park'] as const).flatMap((policy) =>
  (['fail', 'resume'] as const).map((recover) => ({ policy, recover })),
);

describe.each(cases)(
  'a run under $policy whose process dies, found with recover $recover',
  (how) => {
    const { policy, recover } = how;
    let recording: Recording;
    beforeAll(async () => {
      recording = await record(policy);
    });

    /** The process dies after so many changes, and the next one plays on. */
    async function found(count: number) {
      const { ids, recorded, executedBefore } = recording;
      const store = recorded.after(count);
      const host = new Host(store, ids);
      const before = await host.entries('one');
      const next = await host.boot({ ...AGENT, recover }, EXPIRED);
      await next.clock.settle();
      const atRest = await store.listRecords({ limit: 10 });
      await next.playOn();
      await host.expectSound();
      expect(next.clock.pending, 'timers that survive').toEqual([]);
      return {
        next,
        before,
        atRest,
        after: await host.entries('one'),
        mayHaveRun: executedBefore[count] ?? new Set<string>(),
        records: await store.listRecords({ limit: 10 }),
        transcript: await store.getTranscript('one'),
      };
    }

    const each = async (check: (at: Awaited<ReturnType<typeof found>>) => void): Promise<void> => {
      for (let count = 0; count <= recording.recorded.length; count += 1) {
        const at = await found(count);
        try {
          check(at);
        } catch (error) {
          throw new Error(`after ${count} changes, at ${typesOf(at.before).at(-1)}`, {
            cause: error,
          });
        }
      }
    };

    it('has what a reader saw, word for word, and an end behind it (INV-57)', async () => {
      await each(({ before, after }) => {
        expect(after.slice(0, before.length)).toEqual(before);
        if (before.length === 0) expect(after).toEqual([]);
        else expect(TERMINAL_TYPES.has(typesOf(after).at(-1) ?? '')).toBe(true);
      });
    });

    it('never executes a call again that may have begun, unless that is allowed', async () => {
      let again = 0;
      await each(({ next, mayHaveRun }) => {
        const executed = next.tools.executions.map(({ context }) => context.toolCallId);
        expect(new Set(executed).size).toBe(executed.length);
        const twice = executed.filter((id) => mayHaveRun.has(id));
        expect(twice.filter((id) => id !== 'a')).toEqual([]);
        again += twice.length;
      });
      expect(again > 0).toBe(recover === 'resume' && policy !== 'cancel');
    });

    it('is settled, parked or resumed as its policy and the configuration say', async () => {
      const fates = new Set<string>();
      await each(({ before, atRest, records, next }) => {
        if (before.length === 0 || typesOf(before).includes('finished')) return;
        const [first] = records.toReversed();
        const { state, end } = JSON.parse(first?.record ?? '{}') as {
          state: string;
          end: { reason: string | null; error: { code: string } | null };
        };
        fates.add(state);
        if (policy === 'cancel' || (recover === 'fail' && !isWaiting(before))) {
          expect(state).toBe('failed');
          expect(end.error?.code).toBe('owner_lost');
          expect(records).toHaveLength(1);
          expect(next.model.turns).toEqual([]);
          return;
        }
        expect([state, end.reason]).toEqual(['parked', 'owner_lost']);
        // One that waits for a person comes back with the decision, others with the process.
        expect(atRest).toHaveLength(isWaiting(before) ? 1 : 2);
        expect(records).toHaveLength(2);
        expect(records[0]?.settledSeq).toBeDefined();
        expect(JSON.parse(records[0]?.record ?? '{}')).toMatchObject({ state: 'finished' });
      });
      expect(fates).toContain(policy === 'cancel' ? 'failed' : 'parked');
    });

    it('asks the model nothing that a strict provider would refuse', async () => {
      await each(({ next, transcript, before }) => {
        for (const { request } of next.model.turns)
          expect(objections(request.messages)).toEqual([]);
        if (!typesOf(before).includes('started')) return;
        const kept = JSON.parse(transcript ?? '[]') as Parameters<typeof objections>[0];
        expect(objections([...kept, { role: 'user', content: 'And?' }])).toEqual([]);
      });
    });

    it('tells the model of what may have run that its effect is not known', async () => {
      await each(({ next, mayHaveRun, before }) => {
        const told = new Set(
          before.flatMap(({ payload: { event } }) =>
            event.type === 'tool_complete' ? [event.tool_id] : [],
          ),
        );
        const [first] = next.model.turns;
        for (const message of first?.request.messages ?? []) {
          if (message.role !== 'tool' || !mayHaveRun.has(message.toolCallId)) continue;
          if (told.has(message.toolCallId)) expect(message.content).toMatch(/done|more/);
          else expect(message.content).toMatch(/may have happened|of the next/);
        }
      });
    });
  },
);
