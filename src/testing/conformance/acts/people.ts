import { AGENTS } from '../kit/agents.ts';
import type { ToolAnswer } from '../kit/tools.ts';
import { STEPS } from '../paths/steps.ts';
import { expectError, type Json } from './api.ts';
import { type Act, MAIN, type Stage, WAIT_MS } from './stage.ts';
import { answer } from './tools.ts';

/** Well-formed, and nobody's. */
const NOBODYS = '00000000-0000-7000-8000-000000000000';

/** What people do with a run, and what the webhook answers in the place of one. */
export const PEOPLE_ACTS: Readonly<Record<string, Act>> = {
  [STEPS.cancel]: async (stage) => {
    await stage.api.expect(202, `/v1/runs/${stage.run().runId}/cancel`, { method: 'POST' });
    await stage.ended();
  },
  [STEPS.park]: async (stage) => {
    await stage.api.expect(202, `/v1/runs/${stage.run().runId}/park`, { method: 'POST' });
  },
  [STEPS.approve]: (stage, { agent }) =>
    agent === AGENTS.webhook ? approveInVain(stage) : decide(stage, { approved: true }),
  [STEPS.approveWithReason]: (stage) => decide(stage, { approved: true, reason: 'It is fine.' }),
  [STEPS.approveAndAnswer]: async (stage) => {
    await decide(stage, { approved: true });
    await answer(stage, MAIN, { text: 'done' });
  },
  [STEPS.deny]: (stage) => decide(stage, { approved: false, reason: 'Not today.' }),
  [STEPS.approveAnother]: (stage) => decideAnother(stage, true),
  [STEPS.denyAnother]: (stage) => decideAnother(stage, false),
  [STEPS.approvalPasses]: (stage) =>
    stage.more('approval_completed', stage.count('approval_completed')),
  [STEPS.reminderPasses]: (stage) =>
    stage.more('approval_reminder', stage.count('approval_reminder')),
  [STEPS.webhookApproves]: (stage) => answerQuestion(stage, { approved: true }),
  [STEPS.webhookDenies]: (stage) => answerQuestion(stage, { approved: false }),
  [STEPS.webhookFailsForNow]: async (stage) => (await stage.question()).answer({ status: 503 }),
  [STEPS.webhookRefuses]: (stage) => answerQuestion(stage, { status: 400 }),
};

async function askedFor(stage: Stage): Promise<string> {
  const isOpen = (): boolean =>
    stage.count('approval_requested') > stage.count('approval_completed');
  await stage.until('an approval that waits', isOpen);
  return stage.latest('approval_requested').decision_id;
}

const decisionPath = (id: string): string => `/v1/approvals/${id}`;

/** Decides; the same once more is the same, the opposite finds nobody (a late or second decision). */
async function decide(stage: Stage, decision: Json): Promise<void> {
  const id = await askedFor(stage);
  const before = stage.count('approval_completed');
  await stage.api.expect(204, decisionPath(id), { method: 'POST', body: decision });
  await stage.more('approval_completed', before);
  await stage.api.expect(204, decisionPath(id), { method: 'POST', body: decision });
  const opposite = { approved: decision['approved'] !== true };
  expectError(await stage.api.post(decisionPath(id), opposite), 404, 'not_found');
}

async function decideAnother(stage: Stage, approved: boolean): Promise<void> {
  await askedFor(stage);
  expectError(await stage.api.post(decisionPath(NOBODYS), { approved }), 404, 'not_found');
}

/** What a webhook is asked is not for others to decide. */
async function approveInVain(stage: Stage): Promise<void> {
  const id = await askedFor(stage);
  expectError(await stage.api.post(decisionPath(id), { approved: true }), 404, 'not_found');
}

async function answerQuestion(stage: Stage, given: ToolAnswer): Promise<void> {
  const before = stage.count('approval_completed');
  (await stage.question()).answer(given);
  await stage.more('approval_completed', before, WAIT_MS);
}
