import { beforeAll, describe, expect, it } from 'vitest';
import type { LivenessPolicy } from '../../machines/vocabulary.ts';
import type { Envelope } from '../../src/journal/events.ts';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import type { ChatMessage } from '../../src/model.ts';
import { createCountingIds } from '../../src/testing/ids.ts';
import { Host } from '../support/recovery-host.ts';
import { RunWorld, type RunWorldOptions } from '../support/run-world.ts';
import { RecordedStore } from '../support/store-prefix.ts';
import { objections } from '../support/strict-pairing.ts';

/**
 * A run goes on with one that was parked with questions open, and its process dies after each change:
 * what had been decided is neither lost nor done twice, and what had not been decided stays open.
 */

const AGENT: RunWorldOptions = {
  tools: ['safe', 'danger'],
  requireApproval: ['danger'],
  approvalTimeoutMs: 600_000,
};
const EXPIRED = { afterMs: JOURNAL_LIMITS.leaseTtlMs };

type Behind = 'nobody' | 'another run';

/** Parked with three calls of which one had ended; two are decided, one each way; gone on with. */
async function record(policy: LivenessPolicy, behind: Behind) {
  const executedBefore: Set<string>[] = [];
  const executed = () => new Set(worlds.flatMap((world) => idsOf(world)));
  const recorded = new RecordedStore((at) => {
    executedBefore[at] = executed();
  });
  const worlds: RunWorld[] = [];
  const ids = createCountingIds();
  const world = new RunWorld({ ...AGENT, ids, store: recorded.store });
  worlds.push(world);
  const run = await world.start({ sessionId: 'one', liveness: { policy, graceMs: 0 } });
  world.model.turn.say('Well.').call('safe', {}, 's').call('danger', { n: 1 }, 'yes');
  world.model.turn.call('danger', { n: 2 }, 'no').finish('tool_calls');
  await world.clock.settle();
  world.tools.last('safe').answer('safe done');
  await world.clock.settle();
  await run.park();
  const from = recorded.length;
  const other = behind === 'nobody' ? undefined : await world.start({ sessionId: 'one' });
  const { data } = await world.supervisor.listApprovals({ limit: 10 });
  for (const { decision_id: id, arguments: args } of data) {
    const { n } = args as { n: number };
    await world.supervisor.decide(id, { approved: n === 1 });
  }
  const [resumed] = await Promise.all([
    behind === 'nobody' ? world.supervisor.resume(run.runId, {}) : resumeBehind(world, run.runId),
    world.clock.settle(),
  ]);
  if (other !== undefined) {
    await world.clock.settle();
    world.model.turn.say('Hi.').finish();
    await other.event('finished');
  }
  await world.clock.settle();
  await world.clock.settle();
  world.tools.last('danger').answer('danger done');
  await world.clock.settle();
  world.model.turn.say('Done.').finish();
  await world.clock.settle();
  await world.expectSound();
  executedBefore.push(executed());
  return { ids, recorded, from, executedBefore, parkedId: run.runId, resumed };
}

const idsOf = (world: RunWorld): string[] =>
  world.tools.executions.map(({ context }) => context.toolCallId);

/** By hand it is refused while the session is busy; a library may say so too. */
async function resumeBehind(world: RunWorld, runId: string): Promise<unknown> {
  const supervisor = world.supervisor as unknown as {
    resumeOfTenant(runId: string, tenant: string): Promise<unknown>;
  };
  return await supervisor.resumeOfTenant(runId, '');
}

const cases = (['cancel', 'continue', 'park'] as const).flatMap((policy) =>
  (['nobody', 'another run'] as const).flatMap((behind) =>
    (['fail', 'resume'] as const).map((recover) => ({ policy, behind, recover })),
  ),
);

describe.each(cases)(
  'a resumed run under $policy, behind $behind, that dies and is found with recover $recover',
  ({ policy, behind, recover }) => {
    let recording: Awaited<ReturnType<typeof record>>;
    beforeAll(async () => {
      recording = await record(policy, behind);
    });

    it('loses no decision, executes nothing twice, and leaves a sound journal', async () => {
      const { ids, recorded, from, executedBefore } = recording;
      for (let count = from; count <= recorded.length; count += 1) {
        const store = recorded.after(count);
        const host = new Host(store, ids);
        const before = await host.entries('one');
        const next = await host.boot({ ...AGENT, recover }, EXPIRED);
        await next.clock.settle();
        await next.playOn();
        const label = `after ${count - from} changes, at ${before.at(-1)?.payload.event.type}`;
        await expectSound(host, label);
        expect(next.clock.pending, label).toEqual([]);
        const executed = idsOf(next);
        const mayHaveRun = executedBefore[count] ?? new Set();
        expect(
          executed.filter((id) => mayHaveRun.has(id)),
          label,
        ).toEqual([]);
        expect(executed, label).not.toContain(await deniedId(host));
        for (const { request } of next.model.turns) {
          expect(objections(request.messages), label).toEqual([]);
        }
        const kept = JSON.parse((await store.getTranscript('one')) ?? '[]') as ChatMessage[];
        expect(objections([...kept, { role: 'user', content: 'And?' }]), label).toEqual([]);
        const asked = callsIn(kept);
        expect(new Set(asked).size, label).toBe(asked.length);
        expectTruth(await host.entries('one'), [...mayHaveRun, ...executed], label);
      }
    });
  },
);

/** Ids of the calls that the conversation's assistant makes; here each is made once. */
const callsIn = (messages: readonly ChatMessage[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : [],
  );

async function expectSound(host: Host, label: string): Promise<void> {
  try {
    await host.expectSound();
  } catch (error) {
    throw new Error(label, { cause: error });
  }
}

/** The call that was denied, once that is in the store. */
async function deniedId(host: Host): Promise<string | undefined> {
  const approvals = await host.store.listApprovals({ limit: 10 });
  const denied = approvals.find(({ outcome }) => outcome?.includes('denied'));
  return denied && (JSON.parse(denied.record) as { toolCallId: string }).toolCallId;
}

/** What is told of a call as done was done; what is told as held back was not. */
function expectTruth(entries: readonly Envelope[], executed: readonly string[], label: string) {
  for (const { payload } of entries) {
    const { event } = payload;
    if (event.type !== 'tool_complete') continue;
    if (event.success && event.approval === undefined) {
      expect(executed, label).toContain(event.tool_id);
    }
    if (event.approval !== undefined) expect(executed, label).not.toContain(event.tool_id);
  }
}
