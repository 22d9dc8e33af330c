import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  askedOf,
  begin,
  calls,
  control,
  decide,
  eventsOf,
  recordOf,
  refusal,
  says,
  story,
} from '../support/api-kit.ts';
import {
  approved,
  called,
  completions,
  denied,
  eventsIn,
  hitlWorlds,
  inboxToml,
  notice,
  noticesOf,
  toldModel,
} from '../support/hitl-kit.ts';
import type { SystemWorld } from '../support/system-world.ts';
import { silence, status } from '../support/webhook-replies.ts';

/** The model asks a person by itself, with the tool `request_approval`. */

const { start, startWebhook } = hitlWorlds();

const TOOL = 'request_approval';
const WISH = {
  action_description: 'Delete the old backups',
  risk_rationale: 'They are gone for good',
  context: { count: 3 },
};
const CALL = { id: 'call_1', name: TOOL, arguments: { ...WISH, _aura_reasoning: 'Room is short' } };
const ORIGIN = { kind: 'agent_requested', reason: WISH.risk_rationale, agent_name: 'agent' };

/** A run that asks, and the approval that it waits for. */
async function asking(world: SystemWorld) {
  world.answer(calls(CALL), says('Done.'));
  const { run_id: runId } = await begin(world);
  const id = await askedOf(eventsOf(world, runId));
  return { runId, id };
}

describe('request_approval, answered from the inbox', () => {
  const toml = inboxToml({ requires: ['*'], lines: 'allow_argument_edits = true' });

  it.each([
    {
      body: { approved: true, reason: 'go' },
      told: /^The request is approved\. You may proceed/,
      flags: { success: true },
    },
    {
      body: { approved: false, reason: 'keep them' },
      told: /^The request is rejected: keep them\. Do not proceed/,
      flags: { success: true, approval: 'denied' },
    },
  ])('is offered, shows what is wanted and answers $body', async ({ body, told, flags }) => {
    const world = await start({ toml });
    const { runId, id } = await asking(world);
    const offered = (await world.upstream.request(0)).body['tools'];
    expect(offered).toMatchObject([{ function: { name: TOOL } }]);
    expect(await world.ask(`/v1/approvals/${id}`).json()).toMatchObject({
      tool_name: TOOL,
      origin: ORIGIN,
      arguments: WISH,
      may: { edit: false, grant: false },
    });
    expect(await decide(world, id, body).status()).toBe(204);
    const events = await story(world, runId);
    expect((await toldModel(world))['call_1']).toMatch(told);
    expect(completions(events).get('call_1')).toMatchObject(flags);
    expect(eventsIn(events, 'approval_requested')).toMatchObject([{ origin: ORIGIN }]);
  });

  it('cannot be edited or granted for a session', async () => {
    const world = await start({ toml });
    const { runId, id } = await asking(world);
    const edit = { approved: true, arguments: { ...WISH, action_description: 'Nothing' } };
    expect(await refusal(decide(world, id, edit))).toEqual([422, 'edits_not_allowed', 'arguments']);
    const grant = { approved: true, grant: 'session' };
    expect(await refusal(decide(world, id, grant))).toEqual([422, 'grants_not_allowed', 'grant']);
    await decide(world, id, { approved: false }).answered;
    await eventsOf(world, runId).all();
  });

  it('that nobody answers is an error to the model, and no denial', async () => {
    const world = await start({ toml: inboxToml({ requires: [], timeoutSecs: 0.3 }) });
    const { runId } = await asking(world);
    const events = await story(world, runId);
    expect((await toldModel(world))['call_1']).toMatch(
      /timed out.*Treat the action as not approved/,
    );
    const [end] = completions(events).values();
    expect(end).toMatchObject({ success: false, approval: 'timed_out' });
  });

  it('that is cancelled is told as cancelled, to the client alone', async () => {
    const world = await start({ toml });
    const { runId } = await asking(world);
    await control(world, runId, 'cancel').answered;
    const events = await story(world, runId);
    const [end] = completions(events).values();
    expect(end).toMatchObject({
      success: false,
      approval: 'cancelled',
      error: 'approval request was cancelled. Treat the action as not approved.',
    });
    expect(world.upstream.requests).toHaveLength(1);
  });
});

describe('request_approval, answered by a webhook', () => {
  it('is asked with what the model is after, and answers', async () => {
    const { world, receiver } = await startWebhook({ requires: [] });
    world.answer(calls(CALL), calls({ ...CALL, id: 'call_2' }), says('Done.'));
    receiver.reply((request, index) => (index === 0 ? approved() : denied('no'))(request, index));
    const { run_id: runId } = await begin(world);
    const events = await story(world, runId);
    const { body } = await receiver.next('question');
    expect(body).toMatchObject({
      origin: ORIGIN,
      items: [{ tool_name: TOOL, arguments: WISH, tool_call_intent: 'Room is short' }],
    });
    expect(JSON.stringify(body)).not.toContain('_aura_reasoning');
    const told = await toldModel(world, 2);
    expect(told['call_1']).toMatch(/is approved/);
    expect(told['call_2']).toMatch(/is rejected: no\./);
    expect(eventsIn(events, 'tool_complete')).toMatchObject([{ success: true }, { success: true }]);
  });

  it('fails when the webhook does, and is taken back', async () => {
    const { world, receiver } = await startWebhook({ requires: [] });
    receiver.reply(status(400));
    world.answer(calls(CALL), says('Done.'));
    const { run_id: runId } = await begin(world);
    const events = await story(world, runId);
    expect((await toldModel(world))['call_1']).toMatch(
      /^approval request failed: .*400.* may ask again/,
    );
    const [end] = completions(events).values();
    expect(end).toMatchObject({ success: false });
    expect(end?.approval).toBeUndefined();
    const { decisionId } = await receiver.next('question');
    expect(noticesOf(receiver)).toEqual([notice(decisionId, 'errored')]);
  });

  it('that is cancelled is taken back', async () => {
    const { world, receiver } = await startWebhook({ requires: [] });
    receiver.reply(silence());
    world.answer(calls(CALL));
    const { run_id: runId } = await begin(world);
    const { decisionId, gone } = await receiver.next('question');
    await control(world, runId, 'cancel').answered;
    await gone;
    await eventsOf(world, runId).all();
    expect(noticesOf(receiver)).toEqual([notice(decisionId, 'external')]);
  });
});

describe('request_approval that cannot be asked', () => {
  it.each([
    { what: 'action_description', args: { risk_rationale: 'x' } },
    { what: 'risk_rationale', args: { action_description: 'x', risk_rationale: '  ' } },
    { what: 'context', args: { ...WISH, context: 'x' } },
  ])('without a right $what asks nobody and says so to the model', async ({ what, args }) => {
    const world = await start({ toml: inboxToml({ requires: ['*'] }) });
    world.answer(calls({ ...CALL, arguments: args }), says('Done.'));
    const { run_id: runId } = await begin(world);
    const events = await story(world, runId);
    expect((await toldModel(world))['call_1']).toContain(`"${what}"`);
    expect(completions(events).get('call_1')).toMatchObject({ success: false });
    expect(eventsIn(events, 'approval_requested')).toEqual([]);
    expect(await recordOf(world, runId)).toMatchObject({ state: 'finished' });
  });

  it('is no tool of an agent without approvals', async () => {
    const world = await start({ mcp: ['web'] });
    world.answer(calls(CALL), says('Done.'));
    const { run_id: runId } = await begin(world);
    const events = await story(world, runId);
    expect(JSON.stringify((await world.upstream.request(0)).body['tools'])).not.toContain(TOOL);
    expect(completions(events).get('call_1')).toMatchObject({ success: false });
    expect(eventsIn(events, 'approval_requested')).toEqual([]);
  });
});

describe('another tool of that name', () => {
  const namesAt = async (world: SystemWorld): Promise<readonly string[]> => {
    const tools = (await world.upstream.request(0)).body['tools'] as {
      function: { name: string; description?: string };
    }[];
    return tools
      .filter((tool) => tool.function.name === TOOL)
      .map((tool) => tool.function.description ?? '');
  };

  it('of the client takes its place: the client asks its own person', async () => {
    const world = await start({ agent: 'enable_client_tools = true', toml: inboxToml() });
    world.answer(calls(CALL));
    const own = { name: TOOL, description: 'Asks in the app', parameters: { type: 'object' } };
    const chat = world.chat(
      { tools: [{ type: 'function', function: own }] },
      { 'X-Chat-Session-Id': 's' },
    );
    await chat.all();
    expect(chat.finishReasons).toEqual(['tool_calls']);
    expect(await namesAt(world)).toEqual(['Asks in the app']);
    expect(eventsIn(await world.journal('s'), 'approval_requested')).toEqual([]);
  });

  it('of a server takes its place, and is held back by the rules like any other', async () => {
    const tools = (server: McpServer) =>
      server.registerTool(
        TOOL,
        { description: 'Files a ticket', inputSchema: { title: z.string() } },
        ({ title }) => ({ content: [{ type: 'text', text: `Filed ${title}` }] }),
      );
    const toml = inboxToml({ requires: ['request_*'] });
    const world = await start({ mcp: ['web'], web: { tools }, toml });
    world.answer(calls({ ...CALL, arguments: { title: 'T' } }), says('Done.'));
    const { run_id: runId } = await begin(world);
    const id = await askedOf(eventsOf(world, runId));
    expect(await world.ask(`/v1/approvals/${id}`).json()).toMatchObject({
      origin: { kind: 'config_gate', matched_pattern: 'request_*' },
    });
    expect(called(world)).toEqual([]);
    await decide(world, id, { approved: true }).answered;
    await eventsOf(world, runId).all();
    expect(await namesAt(world)).toEqual(['Files a ticket']);
    expect(called(world)).toEqual([[TOOL, { title: 'T' }]]);
    expect((await toldModel(world))['call_1']).toBe('Filed T');
  });
});
