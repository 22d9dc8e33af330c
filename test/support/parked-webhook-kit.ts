import type { StartRun } from '../../src/handle.ts';
import type { JournalEvent } from '../../src/journal/events.ts';
import { ManualWebhook } from './manual-webhook.ts';
import { RunWorld, type RunWorldOptions, type SimulatedRun } from './run-world.ts';

/** Runs that ask a webhook and are parked. */

export const PARK: Partial<StartRun> = { liveness: { policy: 'park', graceMs: 0 } };
export const EXPIRY_MS = 60_000;

export const optionsOf = (
  webhook: ManualWebhook,
  change: RunWorldOptions = {},
): RunWorldOptions => ({
  tools: ['danger'],
  requireApproval: ['danger'],
  approvalTimeoutMs: EXPIRY_MS,
  graceMs: 0,
  agent: { approvalChannel: webhook },
  ...change,
});

export interface Asking<World extends RunWorld = RunWorld> {
  readonly webhook: ManualWebhook;
  readonly world: World;
  readonly run: SimulatedRun;
  readonly decisionId: string;
}

/** A run that has asked the webhook. */
export async function asks<World extends RunWorld>(
  webhook: ManualWebhook,
  world: World,
  change: Partial<StartRun> = PARK,
): Promise<Asking<World>> {
  const run = await world.start(change);
  world.model.turn.call('danger', {}, 'call-0').finish('tool_calls');
  await settled(world);
  return { webhook, world, run, decisionId: lastId(webhook) };
}

export async function asking(change: RunWorldOptions = {}): Promise<Asking> {
  const webhook = new ManualWebhook();
  return await asks(webhook, new RunWorld(optionsOf(webhook, change)));
}

export const lastId = (webhook: ManualWebhook): string =>
  webhook.questions.at(-1)?.question.decisionId ?? '';

export async function settled(world: RunWorld): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await world.clock.advance(0);
}

/** The webhook approves what it was asked last, and the run comes to its end. */
export async function playOut({
  webhook,
  world,
}: Pick<Asking, 'webhook' | 'world'>): Promise<void> {
  webhook.questions.at(-1)?.approve();
  await settled(world);
  for (const execution of world.tools.executions) execution.answer('done');
  await settled(world);
  world.model.turn.finish();
  await settled(world);
}

/** What the run tells of its questions and its end, in order. */
export async function told(run: SimulatedRun): Promise<JournalEvent[]> {
  const types = ['approval_requested', 'approval_completed', 'approval_withdrawn', 'parked'];
  return (await run.events()).filter(({ type }) => types.includes(type));
}

export const takenBack = ({ decisionId }: Asking, reason: string, notified = true): object[] => [
  { type: 'approval_requested', decision_id: decisionId },
  {
    type: 'approval_completed',
    decision_id: decisionId,
    outcome: { kind: 'cancelled', reason },
  },
  { type: 'approval_withdrawn', decision_id: decisionId, reason, notified },
  { type: 'parked' },
];

export const signed = async (world: RunWorld, id: string, approved = true) => {
  const [answer] = await Promise.all([
    world.supervisor.decide(id, { approved, signed: true }),
    settled(world),
  ]);
  return answer;
};

export const pending = async (world: RunWorld): Promise<string[]> => {
  const { data } = await world.supervisor.listApprovals({ limit: 10, state: 'pending' });
  return data.map(({ decision_id: id }) => id);
};
