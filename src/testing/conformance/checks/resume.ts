import { expectError } from '../acts/api.ts';
import { expectSame } from '../acts/mismatch.ts';
import { MAIN, type Stage } from '../acts/stage.ts';

/** A parked run goes on as another run once, and ends. */
export async function checkResumed(stage: Stage): Promise<void> {
  const { runId } = stage.run();
  const path = `/v1/runs/${runId}/resume`;
  await decideWhatWaits(stage, path);
  stage.model.answerAll((call) => call.say(), [MAIN]);
  const resumed = await stage.api.expect(202, path, { method: 'POST' });
  expectSame('the run it goes on with', resumed.json['continues'], runId);
  const again = await stage.api.post(path);
  expectSame('the status of a second resume', again.status, 409);
  await stage.joined(MAIN, String(resumed.json['run_id']));
  const isAsking = (): boolean =>
    stage.count('approval_requested') > stage.count('approval_completed');
  await stage.until(
    'the end of the resumed run',
    () => isAsking() || stage.terminal() !== undefined,
  );
  if (isAsking()) await approve(stage, stage.latest('approval_requested').decision_id);
  await stage.ended();
  expectSame('the end of the resumed run', stage.terminal(), 'finished');
  const { json } = await stage.api.expect(200, `/v1/runs/${runId}`);
  expectSame('who goes on with it', json['continued_by'], resumed.json['run_id']);
}

/** While somebody is asked, a parked run waits for that answer. */
async function decideWhatWaits(stage: Stage, path: string): Promise<void> {
  const { runId } = stage.run();
  const list = await stage.api.expect(200, `/v1/approvals?state=pending&run_id=${runId}`);
  const waiting = (list.json['data'] ?? []) as { decision_id: string }[];
  if (waiting.length === 0) return;
  expectError(await stage.api.post(path), 409, 'approvals_undecided');
  for (const { decision_id: id } of waiting) await approve(stage, id);
}

async function approve(stage: Stage, id: string): Promise<void> {
  await stage.api.expect(204, `/v1/approvals/${id}`, { method: 'POST', body: { approved: true } });
}
