import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { ApprovalItem } from '../../src/approval-item.ts';
import type { Envelope } from '../../src/journal/events.ts';
import { decisionContext, signedHeaders } from '../../src/hitl/webhook/signing.ts';
import { ASKS_FIRST, calls, control, decide, ECHO, ended, post, says } from '../support/api-kit.ts';
import { asking } from '../support/api-runs.ts';
import { as, authToml } from '../support/api-tenants.ts';
import { createCliWorld } from '../support/cli-world.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemWorld, systemWorlds } from '../support/system-world.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

/** The inbox of the whole server: how it changes, and who may decide what is in it. */

const start = systemWorlds();
const SECRET = 'rw-secret-0123456789abcdef0123456789';
const SIGNS = { AURA_HITL_WEBHOOK_SECRET: SECRET };
const NOBODY = '01890000-0000-7000-8000-000000000000';

const itemsIn = ({ frames }: Exchange): ApprovalItem[] =>
  frames.filter(({ event }) => event === 'approval').map(({ data }) => JSON.parse(data));

/** Each approval that was told, as its id's end, its state and whether it is parked. */
const told = (reader: Exchange): readonly unknown[] =>
  itemsIn(reader).map(({ decision_id, state, parked }) => [decision_id, state, parked]);

/** A reader that has been told how things stand. */
async function feedOf(world: { ask: SystemWorld['ask'] }, query = ''): Promise<Exchange> {
  const reader = world.ask(`/v1/approvals/events${query}`);
  await reader.until(({ frames }) => frames.some(({ event }) => event === 'approvals_ready'));
  return reader;
}

const changed = (reader: Exchange, isSo: (item: ApprovalItem) => boolean): Promise<void> =>
  reader.until((so) => itemsIn(so).some(isSo));

/** Signs what `decide` sends; the id may be another than the one it is sent for. */
const signature = (id: string, body: object, secret = SECRET): Record<string, string> => {
  const context = decisionContext(id);
  return { ...signedHeaders({ secret, nowMs: Date.now(), context, body: JSON.stringify(body) }) };
};

const YES = { approved: true };

describe('the stream of the inbox', () => {
  it('tells how things stand, what is asked, decided and parked, and under whose name', async () => {
    const env = { RUNWARDEN_DECIDER_HEADER: 'X-User' };
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST, env });
    const first = await asking(world, { session_id: 'a' });
    const all = await feedOf(world);
    const pending = await feedOf(world, '?state=pending&session_id=a');
    const second = await asking(world, { session_id: 'b' });
    await control(world, second.runId, 'park').answered;
    await changed(all, ({ parked }) => parked);
    world.answer(says('Done.'));
    const answer = decide(world, first.id, { ...YES, reason: 'Fine.' }, { 'X-User': 'ann' });
    expect(await answer.status()).toBe(204);
    for (const reader of [all, pending]) {
      await changed(reader, ({ state, decision_id }) => {
        return state === 'approved' && decision_id === first.id;
      });
    }
    expect(told(pending)).toEqual([
      [first.id, 'pending', false],
      [first.id, 'approved', false],
    ]);
    expect(itemsIn(pending).at(-1)).toMatchObject({ decided_by: 'ann', reason: 'Fine.' });
    expect(told(all)).toContainEqual([second.id, 'pending', true]);
    await ended(world, first.runId);
    const again = await feedOf(world, '?state=pending');
    expect(told(again)).toEqual([[second.id, 'pending', true]]);
    await Promise.all([all, pending, again].map((reader) => reader.leave()));
  });

  it('is one tenants own', async () => {
    const world = await start({ mcp: ['web'], toml: authToml() + ASKS_FIRST });
    const acme = { ...as(world, 'acme'), answer: world.answer.bind(world) };
    const stranger = await feedOf(as(world, 'globex-runs:read'));
    const reader = await feedOf(as(world, 'acme-runs:read'));
    const { runId, id } = await asking(acme, { session_id: 'a' });
    await changed(reader, ({ decision_id }) => decision_id === id);
    await control(acme, runId, 'cancel').answered;
    await changed(reader, ({ state }) => state === 'cancelled');
    expect(told(stranger)).toEqual([]);
    await Promise.all([reader.leave(), stranger.leave()]);
  });

  it('leaves a shutdown nothing to wait for, though something waits parked', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    const { runId, id } = await asking(world, { session_id: 'a' });
    await control(world, runId, 'park').answered;
    await ended(world, runId);
    // It stays open: the world that closes checks that the grace was not used up.
    expect(told(await feedOf(world))).toEqual([[id, 'pending', true]]);
  });
});

describe('GET /v1/approvals/{id}', () => {
  it('is the one of a live and of a parked run', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    const { runId, id } = await asking(world);
    const item = () => world.ask(`/v1/approvals/${id}`).json();
    expect(await item()).toMatchObject({ decision_id: id, state: 'pending', parked: false });
    await control(world, runId, 'park').answered;
    await ended(world, runId);
    expect(await item()).toMatchObject({ decision_id: id, state: 'pending', parked: true });
    expect(await world.ask(`/v1/approvals/${NOBODY}`).status()).toBe(404);
  });
});

describe('a decision where decisions are signed', () => {
  it('is taken with a signature alone, and kept under its key', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST, env: SIGNS });
    const { runId, id } = await asking(world);
    const wrong = signature(id, YES, 'x'.repeat(32));
    for (const headers of [{}, wrong, signature(NOBODY, YES)]) {
      expect(await decide(world, id, YES, headers).status()).toBe(401);
    }
    world.answer(says('Done.'));
    expect(await decide(world, id, YES, signature(id, YES)).status()).toBe(204);
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
    expect(await world.event('s', 'approval_completed')).toMatchObject({
      outcome: { kind: 'approved' },
      decided_by: 'signature:primary',
    });
    expect(JSON.stringify(world.log)).not.toContain(SECRET);
  });

  it('is taken in any tenant; a key decides in its own, without one', async () => {
    const world = await start({ mcp: ['web'], toml: authToml() + ASKS_FIRST, env: SIGNS });
    const acme = { ...as(world, 'acme'), answer: world.answer.bind(world) };
    const one = await asking(acme, { session_id: 'a' });
    const two = await asking(acme, { session_id: 'b' });
    expect(await decide(world, one.id, YES).status()).toBe(401);
    expect(await decide(as(world, 'globex'), one.id, YES).status()).toBe(404);
    world.answer(says('Done.'), says('Done.'));
    expect(await decide(world, one.id, YES, signature(one.id, YES)).status()).toBe(204);
    await one.reader.all();
    expect(await decide(as(world, 'acme-approvals:decide'), two.id, YES).status()).toBe(204);
    await two.reader.all();
  });

  it('is the only one that decides what a webhook is asked', async () => {
    const webhook = await startWebhookReceiver({ tls: 'trusted' });
    onTestFinished(() => webhook.close());
    webhook.reply(() => {});
    const toml = `${authToml()}[hitl]
require_approval = ["echo"]
route = { mode = "webhook", url = "${webhook.url}", timeout_secs = 60 }
`;
    const world = await start({ mcp: ['web'], toml, env: SIGNS });
    const acme = as(world, 'acme');
    world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await post(acme, '/v1/runs', { prompt: 'Go' }).json();
    const { decisionId: id } = await webhook.next('question');
    expect(await decide(acme, id, YES).status()).toBe(404);
    const no = { approved: false, reason: 'Not now.' };
    expect(await decide(acme, id, no, signature(id, no)).status()).toBe(204);
    const record = await ended(acme, String(runId));
    expect(record).toMatchObject({ state: 'finished' });
    const told = (await acme.ask(`/v1/runs/${String(runId)}/events`).all()).map(
      ({ data }) => (JSON.parse(data) as Envelope).payload.event,
    );
    expect(told).toContainEqual(
      expect.objectContaining({
        type: 'approval_completed',
        outcome: { kind: 'denied', reason: 'Not now.' },
        decided_by: 'key:acme',
      }),
    );
  });
});

describe('the command line on the real server', () => {
  const typed = async (world: SystemWorld, env: Record<string, string>, ...argv: string[]) => {
    const { fetch } = globalThis;
    const cli = createCliWorld({ cwd: '/nonexistent', fetch, timers: systemClock, env });
    cli.advance(Date.now());
    const code = await cli.run('approvals', ...argv, '--url', world.url);
    return { code, out: cli.out(), err: cli.err() };
  };

  it('lists, shows and decides, with a signature where that is asked for', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST, env: SIGNS });
    const { runId, id } = await asking(world);
    expect((await typed(world, {}, 'list', '--tool', 'echo')).out).toContain(`${id}  echo`);
    expect((await typed(world, {}, 'list', '--tool', 'other')).out).toContain('Nothing waits');
    expect((await typed(world, {}, 'show', id)).out).toContain(`runwarden approvals deny ${id}`);
    const unsigned = await typed(world, {}, 'approve', id);
    expect(unsigned.code).toBe(6);
    expect(unsigned.err).toContain('Set AURA_HITL_WEBHOOK_SECRET to the secret of the server');
    const edits = await typed(world, SIGNS, 'approve', id, '--arguments', '{"said":"y"}');
    expect(edits.code).toBe(1);
    expect(edits.err).toContain('(edits_not_allowed) Leave out --arguments');
    const grants = await typed(world, SIGNS, 'approve', id, '--for-session');
    expect(grants.err).toContain('(grants_not_allowed) Leave out --for-session');
    const content = await typed(world, SIGNS, 'approve', id, '--content', '{}');
    expect(content.err).toContain('(content_not_allowed) Leave out --content');
    world.answer(says('Done.'));
    expect(await typed(world, SIGNS, 'approve', id, '--reason', 'zoë 山')).toMatchObject({
      code: 0,
      out: `Approved ${id}.\n`,
    });
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
    expect((await typed(world, SIGNS, 'deny', id)).code).toBe(3);
  });

  it('watches', async () => {
    const world = await start({ mcp: ['web'], toml: ASKS_FIRST });
    const { fetch } = globalThis;
    const cli = createCliWorld({ cwd: '/nonexistent', fetch, timers: systemClock });
    const code = cli.run('approvals', 'watch', '--url', world.url);
    await cli.printed('Nothing waits');
    const { runId, id } = await asking(world);
    await cli.printed(`${id} pending`);
    await control(world, runId, 'cancel').answered;
    await cli.printed(`${id} cancelled`);
    cli.signals.emit('SIGINT');
    expect(await code).toBe(130);
  });
});
