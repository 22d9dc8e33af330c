import { type Answer, expectError, type Json } from '../acts/api.ts';
import { expectSame, Mismatch, shown } from '../acts/mismatch.ts';
import { MAIN, type Stage } from '../acts/stage.ts';
import { AGENTS } from '../kit/agents.ts';
import { startRun, type WireCheck } from './wire-check.ts';

/** Well-formed, and nobody's. */
const NOBODYS = '00000000-0000-7000-8000-000000000000';

/** What the runs API promises beside the lives of its runs. */
export const RUNS_CHECKS: readonly WireCheck[] = [
  ['a start that is repeated under its key finds the first run', repeatedStart],
  ['a key that was used for another body is refused', reusedKey],
  ['a run is listed, and its session too', listed],
  ['a cancel that waits answers when the run has ended', cancelAndWait],
  ['a cancel after the end changes nothing', cancelLate],
  ['a run under way says what may be done to it', verbs],
  ['an explanation can be read as text, a chart as a picture', insight],
  ['what nobody knows is 404', unknownIds],
];

async function startWith(stage: Stage, key: string, body: Json = {}): Promise<Answer> {
  return stage.api.ask('/v1/runs', {
    method: 'POST',
    headers: { 'Idempotency-Key': key },
    body: { agent: AGENTS.plain, prompt: stage.prompt(MAIN), session_id: stage.id, ...body },
  });
}

async function repeatedStart(stage: Stage): Promise<void> {
  const first = await startWith(stage, `key-${stage.id}`);
  expectSame('the status', first.status, 202);
  await stage.joined(MAIN, String(first.json['run_id']));
  const again = await startWith(stage, `key-${stage.id}`);
  expectSame('the status', again.status, 202);
  expectSame('the run', again.json['run_id'], first.json['run_id']);
  expectSame('Idempotency-Replayed', again.headers.get('idempotency-replayed'), 'true');
}

async function reusedKey(stage: Stage): Promise<void> {
  const first = await startWith(stage, `key-${stage.id}`);
  await stage.joined(MAIN, String(first.json['run_id']));
  const other = await startWith(stage, `key-${stage.id}`, { timeout_ms: 60_000 });
  expectError(other, 409, 'idempotency_key_reused', 'Idempotency-Key');
}

async function listed(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  const list = await stage.api.expect(200, `/v1/runs?session_id=${stage.id}&limit=1`);
  const ids = ((list.json['data'] ?? []) as { run_id: string }[]).map(({ run_id: id }) => id);
  expectSame('the runs of the session', ids, [stage.run().runId]);
  const { json } = await stage.api.expect(200, `/v1/sessions/${stage.id}`);
  expectSame('the live runs of the session', json['live'], [stage.run().runId]);
}

const cancel = (stage: Stage, query = ''): Promise<Answer> =>
  stage.api.post(`/v1/runs/${stage.run().runId}/cancel${query}`);

async function cancelAndWait(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  const answer = await cancel(stage, '?wait=true');
  expectSame('the status and the state', [answer.status, answer.json['state']], [200, 'cancelled']);
}

async function cancelLate(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  (await stage.answering()).say();
  await stage.ended();
  const answer = await cancel(stage);
  expectSame('the status and the state', [answer.status, answer.json['state']], [200, 'finished']);
}

async function verbs(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  const { json } = await stage.api.expect(200, `/v1/runs/${stage.run().runId}`);
  const named = (json['verbs'] ?? []) as readonly string[];
  if (named.includes('cancel') && named.includes('attach')) return;
  throw new Mismatch('the verbs cancel and attach', shown(named));
}

async function insight(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  const run = `/v1/runs/${stage.run().runId}`;
  const text = await stage.api.expect(200, `${run}/explain`, { headers: { accept: 'text/plain' } });
  if (!text.text.includes(stage.run().runId)) {
    throw new Mismatch('a text that names the run', shown(text.text));
  }
  const picture = { headers: { accept: 'image/svg+xml' } };
  const chart = await stage.api.expect(200, `${run}/chart`, picture);
  if (!chart.text.includes('<svg')) throw new Mismatch('a picture', shown(chart.text));
}

async function unknownIds({ api }: Stage): Promise<void> {
  const run = `/v1/runs/${NOBODYS}`;
  for (const path of [run, `${run}/events`, `${run}/explain`, `${run}/chart`]) {
    expectError(await api.ask(path), 404, 'not_found');
  }
  for (const verb of ['cancel', 'park', 'resume']) {
    expectError(await api.post(`${run}/${verb}`), 404, 'not_found');
  }
  expectError(await api.ask('/v1/sessions/conformance-nobody'), 404, 'not_found');
  expectError(await api.ask(`/v1/approvals/${NOBODYS}`), 404, 'not_found');
}
