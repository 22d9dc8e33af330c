import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** A person is asked over HTTP, on a connection of its own, while the chat's stream stays open. */

const start = systemWorlds();
const IN_SESSION = { 'X-Chat-Session-Id': 's' };
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const ECHO = { id: 'call_1', name: 'echo', arguments: { said: 'secretly' } };

function gated(timeoutSecs = 60): SystemOptions {
  const route = `route = { mode = "conversational", timeout_secs = ${timeoutSecs} }`;
  return { mcp: ['web'], toml: `[hitl]\nrequire_approval = ["ech*"]\n${route}` };
}

interface Waiting {
  readonly world: SystemWorld;
  readonly chat: Exchange;
  readonly id: string;
}

/** A run that waits for a person. */
async function waiting(options: SystemOptions = gated()): Promise<Waiting> {
  const world = await start(options);
  world.answer({ steps: reply({ toolCalls: [ECHO] }) }, { steps: reply({ text: ['Then so.'] }) });
  const chat = world.chat({}, IN_SESSION);
  const isAsked = () => chat.data('aura.approval_pending').length > 0;
  await chat.until(isAsked);
  const id = String(chat.data('aura.approval_pending')[0]?.['decision_id']);
  return { world, chat, id };
}

const decide = ({ world }: Pick<Waiting, 'world'>, id: string, body: unknown): Exchange =>
  world.ask(`/v1/approvals/${id}`, { method: 'POST', body });

/** What the model was told about the call; the strict upstream has taken the conversation. */
async function toldModel({ world }: Waiting): Promise<string> {
  const { body } = await world.upstream.request(1);
  const last = (body['messages'] as { role: string; content: string }[]).at(-1);
  expect(last).toMatchObject({ role: 'tool', tool_call_id: 'call_1' });
  return last?.content ?? '';
}

const callsOf = (world: SystemWorld): number =>
  world.web.seen.filter(({ rpc }) => rpc === 'tools/call').length;

describe('an approval', () => {
  it('shows what is asked, and what the run waits for', async () => {
    const at = await waiting();
    const { world, chat, id } = at;
    expect(chat.data('aura.approval_pending')[0]).toMatchObject({
      tool_name: 'echo',
      arguments: { said: 'secretly' },
      origin: { kind: 'config_gate', matched_pattern: 'ech*' },
      choices: [],
    });
    expect(await world.record(await chat.runId())).toMatchObject({
      state: 'waiting',
      approvals: [id],
    });
    expect(callsOf(world)).toBe(0);
    await decide(at, id, { approved: false }).status();
    await chat.all();
  });

  it('that is given lets the tool run', async () => {
    const at = await waiting();
    const answer = decide(at, at.id, { approved: true, reason: 'fine' });
    expect(await answer.status()).toBe(204);
    await at.chat.all();
    expect(at.chat.text).toContain('Then so.');
    expect(await toldModel(at)).toBe('secretly');
    expect(callsOf(at.world)).toBe(1);
    expect(at.chat.data('aura.approval_completed')[0]).toHaveProperty('outcome', {
      kind: 'approved',
    });
  });

  it('that is refused runs nothing and tells the model so', async () => {
    const at = await waiting();
    expect(await decide(at, at.id, { approved: false, reason: 'too risky' }).status()).toBe(204);
    await at.chat.all();
    expect(at.chat.finishReasons).toEqual(['stop']);
    expect(await toldModel(at)).toContain('too risky');
    expect(callsOf(at.world)).toBe(0);
    expect(await at.world.event('s', 'tool_complete')).toMatchObject({ approval: 'denied' });
  });

  it('that nobody answers runs nothing and tells the model so', async () => {
    const at = await waiting(gated(0.3));
    await at.chat.all();
    expect(at.chat.finishReasons).toEqual(['stop']);
    expect(await toldModel(at)).not.toBe('secretly');
    expect(callsOf(at.world)).toBe(0);
    expect(at.chat.data('aura.approval_completed')[0]).toMatchObject({
      outcome: { kind: 'timed_out' },
    });
    expect(await decide(at, at.id, { approved: true }).status()).toBe(404);
  });

  it('is decided once: the same again is 204, the opposite 404 (decision 26)', async () => {
    const at = await waiting();
    expect(await decide(at, at.id, { approved: true }).status()).toBe(204);
    expect(await decide(at, at.id, { approved: true, reason: 'again' }).status()).toBe(204);
    const other = decide(at, at.id, { approved: false });
    expect(await other.status()).toBe(404);
    expect(await other.json()).toMatchObject({
      error: { code: 'not_found', message: expect.stringContaining(at.id) },
    });
    await at.chat.all();
    expect(callsOf(at.world)).toBe(1);
  });

  it('has one winner when many decide at once', async () => {
    const at = await waiting();
    const answers = await Promise.all(
      [true, false, true, false, true, false].map(async (approved) => ({
        approved,
        status: await decide(at, at.id, { approved }).status(),
      })),
    );
    await at.chat.all();
    const won = answers.filter(({ status }) => status === 204).map(({ approved }) => approved);
    expect(new Set(won).size).toBe(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(6 - won.length);
    expect(callsOf(at.world)).toBe(won[0] === true ? 1 : 0);
  });

  it('withdrawn by a cancel runs nothing, and a late answer finds nothing', async () => {
    const at = await waiting();
    const cancel = `/v1/runs/${await at.chat.runId()}/cancel?wait=true`;
    expect(await at.world.ask(cancel, { method: 'POST' }).json()).toMatchObject({ approvals: [] });
    await at.chat.all();
    expect(at.chat.data('aura.approval_completed')[0]).toMatchObject({
      outcome: { kind: 'cancelled', reason: 'sender_dropped', cause: 'external' },
    });
    expect(await decide(at, at.id, { approved: true }).status()).toBe(404);
    expect(callsOf(at.world)).toBe(0);
  });

  it('of one call does not hold its sibling back, and both are answered in order', async () => {
    const world = await start({ ...gated(), mcp: ['web', 'demo'] });
    const calls = [ECHO, { id: 'call_2', name: 'add', arguments: { a: 1, b: 2 } }];
    world.answer({ steps: reply({ toolCalls: calls }) }, { steps: reply({ text: ['Both'] }) });
    const chat = world.chat({}, IN_SESSION);
    expect(await world.event('s', 'tool_complete')).toMatchObject({ tool_id: 'call_2' });
    const { decision_id: id } = await world.event('s', 'approval_pending');
    await decide({ world }, id, { approved: false }).status();
    await chat.all();
    const { messages } = (await world.upstream.request(1)).body;
    const results = (messages as { tool_call_id: string }[]).slice(-2);
    expect(results.map((result) => result.tool_call_id)).toEqual(['call_1', 'call_2']);
  });
});

describe('a decision that cannot be taken', () => {
  it.each([
    { why: 'an id nobody gave', id: UNKNOWN, body: { approved: true }, status: 404 },
    { why: 'an id that is none', id: 'x', body: { approved: true }, status: 400 },
    { why: 'no answer', id: UNKNOWN, body: {}, status: 400 },
    { why: 'a word for an answer', id: UNKNOWN, body: { approved: 'yes' }, status: 400 },
    { why: 'an unknown key', id: UNKNOWN, body: { approved: true, force: 1 }, status: 400 },
  ])('for $why is $status', async ({ id, body, status }) => {
    const world = await start();
    const answer = decide({ world }, id, body);
    expect(await answer.status()).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { message: expect.any(String) } });
  });

  it('of an agent that asks people leaves a request without a stream unserved (decision 31)', async () => {
    const world = await start(gated());
    const chat = world.chat({ stream: false });
    expect(await chat.status()).toBe(400);
    expect(await chat.json()).toMatchObject({ error: { param: 'stream' } });
  });
});
