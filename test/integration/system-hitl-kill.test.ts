import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type AskedCall,
  begin,
  calls,
  control,
  ended,
  eventsOf,
  recordOf,
  says,
  story,
} from '../support/api-kit.ts';
import {
  approved,
  completions,
  decideSigned,
  eventsIn,
  notice,
  noticesOf,
  SIGNS,
  toldModel,
  webhookReceivers,
  webhookToml,
} from '../support/hitl-kit.ts';
import {
  type ProcessWorld,
  processWorlds,
  type ServerProcess,
  type StopSignal,
} from '../support/system-process.ts';
import type { WebhookReceiver, WebhookRequest } from '../support/webhook-receiver.ts';
import { silence, status } from '../support/webhook-replies.ts';

/**
 * A process ends while a webhook has its question, and another one starts on its data: whoever was
 * asked is told that nobody waits, and is asked anew, under another key, by the run that goes on.
 */

// Its hooks first, so that they run last: what was sent is checked when the processes are gone.
const receive = webhookReceivers();
const start = processWorlds();

const add = (id: string) => ({ id, name: 'add', arguments: { a: 1, b: 2 } });
const ASKING = `[mcp.servers.asking]
transport = "stdio"
cmd = ${JSON.stringify([process.execPath, resolve('test/integration/mcp-fixtures/asking-server.ts')])}
`;
const RESUMES = '[runtime.park]\nresume_on_start = true\n';
const YES = { approved: true };
const PARK = { liveness: { policy: 'park', grace_ms: 0 } };

interface Asked {
  readonly world: ProcessWorld;
  readonly receiver: WebhookReceiver;
  readonly question: WebhookRequest;
  readonly runId: string;
}

interface Plan {
  readonly tables?: string;
  readonly grace?: number;
  /** What the model calls. */
  readonly turn?: readonly AskedCall[];
}

/** A process whose run waits for a webhook that says nothing. */
async function asking(
  launch: (server: ServerProcess) => Promise<string>,
  { tables = '', grace, turn = [add('call_1')] }: Plan = {},
): Promise<Asked> {
  const receiver = await receive();
  receiver.reply(silence());
  const dir = mkdtempSync(join(tmpdir(), 'runwarden-hitl-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const trusted = join(dir, 'ca.pem');
  writeFileSync(trusted, receiver.certificate ?? '');
  const toml = tables + webhookToml(receiver.url, { requires: ['add'] });
  const env = { ...SIGNS, NODE_EXTRA_CA_CERTS: trusted };
  const world = await start({ mcp: ['demo'], toml, env, ...(grace !== undefined && { grace }) });
  world.answer(calls(...turn));
  const runId = await launch(world.server);
  return { world, receiver, runId, question: await receiver.next('question') };
}

const headless =
  (body: object = {}) =>
  async (server: ServerProcess): Promise<string> =>
    (await begin(server, body)).run_id;

const next = ({ receiver }: Asked): Promise<WebhookRequest> => receiver.next('question');

/** Ends the process, and gives the next one. */
async function ends({ world, question }: Asked, signal: StopSignal): Promise<ServerProcess> {
  world.server.signal(signal);
  await world.server.exit();
  await question.gone;
  return world.again();
}

/** The run that goes on with the parked one has called the tool. */
async function expectGoesOn(server: ServerProcess, { runId }: Asked): Promise<void> {
  const { continued_by: next } = await recordOf(server, runId);
  const events = await story(server, String(next));
  expect(eventsIn(events, 'finished')).toHaveLength(1);
  expect(completions(events).get('call_1')).toMatchObject({ success: true, result: '3' });
  expect(eventsIn(events, 'approval_completed')).toMatchObject([{ outcome: { kind: 'approved' } }]);
}

/** The run that asked says that it is over, and so does the one notice, taken or not. */
async function expectTakenBack(
  server: ServerProcess,
  { receiver, runId, question: { decisionId: id } }: Asked,
  reason: string,
  notified = true,
): Promise<void> {
  const events = await story(server, runId);
  expect(eventsIn(events, 'approval_completed')).toMatchObject([
    { decision_id: id, outcome: { kind: 'cancelled', reason } },
  ]);
  expect(eventsIn(events, 'approval_withdrawn')).toMatchObject([
    { decision_id: id, reason, notified },
  ]);
  expect(noticesOf(receiver)).toEqual([notice(id, reason)]);
}

/** The same is asked, under another key. */
async function expectAskedAnew({ receiver, question }: Asked): Promise<void> {
  const again = await receiver.next('question');
  expect(again.decisionId).not.toBe(question.decisionId);
  expect(again.headers['idempotency-key']).toBe(again.decisionId);
  expect(again.body['items']).toEqual(question.body['items']);
}

describe('a process that is killed while a webhook is asked', () => {
  it('under cancel: the run is settled, and the webhook told', async () => {
    const at = await asking((server) => server.chat('s').runId());
    const server = await ends(at, 'SIGKILL');
    const events = await story(server, at.runId);
    const { decisionId: id } = at.question;
    expect(eventsIn(events, 'failed')).toMatchObject([{ error: { code: 'owner_lost' } }]);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { decision_id: id, outcome: { kind: 'cancelled', reason: 'owner_lost' } },
    ]);
    expect(eventsIn(events, 'approval_withdrawn')).toMatchObject([
      { decision_id: id, reason: 'owner_lost', notified: true },
    ]);
    expect(noticesOf(at.receiver)).toEqual([notice(id, 'owner_lost')]);
    expect(await decideSigned(server, id, YES).status()).toBe(404);
    expect(at.receiver.questions).toHaveLength(1);
  });

  it.each([
    { policy: 'continue', body: {} },
    { policy: 'park', body: PARK },
  ])('under $policy: the run is parked, the webhook told, and asked anew on resume', async (on) => {
    const at = await asking(headless(on.body));
    const server = await ends(at, 'SIGKILL');
    expect(await ended(server, at.runId)).toMatchObject({ state: 'parked', approvals: [] });
    await expectTakenBack(server, at, 'owner_lost');
    expect(await decideSigned(server, at.question.decisionId, YES).status()).toBe(404);
    at.receiver.reply(approved());
    at.world.answer(says('Done.'));
    expect(await control(server, at.runId, 'resume').status()).toBe(202);
    await expectAskedAnew(at);
    await at.world.upstream.request(1);
    await expectGoesOn(server, at);
    expect(at.receiver.notices).toHaveLength(1);
  });

  it('under continue: the parked run that is cancelled tells the webhook nothing more', async () => {
    const at = await asking(headless());
    const server = await ends(at, 'SIGKILL');
    expect(await ended(server, at.runId)).toMatchObject({ state: 'parked' });
    expect([200, 202]).toContain(await control(server, at.runId, 'cancel').status());
    expect(await decideSigned(server, at.question.decisionId, YES).status()).toBe(404);
    expect(noticesOf(at.receiver)).toEqual([notice(at.question.decisionId, 'owner_lost')]);
    expect(at.receiver.questions).toHaveLength(1);
  });

  it('and that does not hear of it then: the run is parked, and the webhook asked anew', async () => {
    const at = await asking(headless(PARK));
    at.receiver.replyToNotices(status(500));
    const server = await ends(at, 'SIGKILL');
    expect(await ended(server, at.runId)).toMatchObject({ state: 'parked' });
    await expectTakenBack(server, at, 'owner_lost', false);
    at.receiver.reply(approved());
    at.world.answer(says('Done.'));
    expect(await control(server, at.runId, 'resume').status()).toBe(202);
    await expectAskedAnew(at);
    await at.world.upstream.request(1);
    await expectGoesOn(server, at);
  });

  it.each([
    { policy: 'continue', body: {} },
    { policy: 'park', body: PARK },
  ])('under $policy with resume_on_start: it is told and asked anew at once', async ({ body }) => {
    const at = await asking(headless(body), { tables: RESUMES });
    at.world.server.signal('SIGKILL');
    await at.world.server.exit();
    at.receiver.reply(approved());
    at.world.answer(says('Done.'));
    const server = await at.world.again();
    await expectAskedAnew(at);
    await at.world.upstream.request(1);
    await expectGoesOn(server, at);
    await expectTakenBack(server, at, 'owner_lost');
    expect(at.receiver.questions).toHaveLength(2);
  });
});

describe('a process that is killed in the middle of a turn', () => {
  it('keeps what was decided and what came of it: only the open question is put anew', async () => {
    const at = await asking(headless(), { turn: ['a', 'b', 'c'].map(add) });
    const [first, second, third] = [at.question, await next(at), await next(at)];
    const { server } = at.world;
    await decideSigned(server, first.decisionId, { approved: true }).answered;
    await decideSigned(server, second.decisionId, { approved: false, reason: 'no' }).answered;
    const done = eventsOf(server, at.runId);
    await done.until(({ body }) => body.split('"tool_complete"').length === 3);
    const restarted = await ends({ ...at, question: third }, 'SIGKILL');
    const before = await story(restarted, at.runId);
    expect(eventsIn(before, 'parked')).toHaveLength(1);
    expect(completions(before).get('a')).toMatchObject({ success: true, result: '3' });
    expect(completions(before).get('b')).toMatchObject({ approval: 'denied' });
    at.world.answer(says('Done.'));
    expect(await decideSigned(restarted, third.decisionId, YES).status()).toBe(404);
    expect(await control(restarted, at.runId, 'resume').status()).toBe(202);
    const { decisionId: anew } = await next(at);
    expect([first, second, third].map(({ decisionId }) => decisionId)).not.toContain(anew);
    await decideSigned(restarted, anew, YES).answered;
    const told = await toldModel(at.world);
    expect(told).toEqual({ a: '3', b: expect.stringContaining('denial: no'), c: '3' });
    const { continued_by: then } = await recordOf(restarted, at.runId);
    const after = await story(restarted, String(then));
    expect(eventsIn(after, 'tool_start')).toHaveLength(1);
    expect(at.receiver.questions).toHaveLength(4);
    const reasons = at.receiver.notices.map(({ body }) => body['reason']);
    expect(reasons).toEqual(['decided', 'decided', 'owner_lost', 'decided']);
  });

  it('takes back what a server had asked, since its call is lost', async () => {
    const ask = { id: 'call_1', name: 'ask', arguments: { message: 'Why?' } };
    const at = await asking(headless(), { tables: ASKING, turn: [ask] });
    const { decisionId: id, body } = at.question;
    expect(body['origin']).toMatchObject({ kind: 'elicitation', message: 'Why?' });
    const server = await ends(at, 'SIGKILL');
    const events = await story(server, at.runId);
    expect(eventsIn(events, 'failed')).toMatchObject([{ error: { code: 'owner_lost' } }]);
    expect(completions(events).get('call_1')).toMatchObject({ success: false, effect: 'unknown' });
    expect(noticesOf(at.receiver)).toEqual([notice(id, 'owner_lost')]);
    const late = { approved: true, content: { reason: 'because' } };
    expect(await decideSigned(server, id, late).status()).toBe(404);
  });
});

describe('a process that is told to stop while a webhook is asked', () => {
  it('parks a run under park: the webhook is told before it is gone, and asked anew by the next', async () => {
    const at = await asking(headless(PARK), { tables: RESUMES, grace: 0 });
    at.world.server.signal('SIGTERM');
    expect(await at.world.server.exit()).toEqual([0, null]);
    expect(noticesOf(at.receiver)).toEqual([notice(at.question.decisionId, 'shutdown')]);
    at.receiver.reply(approved());
    at.world.answer(says('Done.'));
    const server = await at.world.again();
    await expectAskedAnew(at);
    await at.world.upstream.request(1);
    await expectGoesOn(server, at);
    await expectTakenBack(server, at, 'shutdown');
  });

  it('parks a run under park also where the webhook does not hear of it', async () => {
    const at = await asking(headless(PARK), { grace: 0 });
    at.receiver.replyToNotices(silence());
    at.world.server.signal('SIGTERM');
    expect(await at.world.server.exit()).toEqual([0, null]);
    const server = await at.world.again();
    expect(await ended(server, at.runId)).toMatchObject({ state: 'parked' });
    await expectTakenBack(server, at, 'shutdown', false);
  });
});
