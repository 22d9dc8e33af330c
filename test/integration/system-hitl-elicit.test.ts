import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  askedOf,
  begin,
  calls,
  control,
  decide,
  eventsOf,
  heard,
  recordOf,
  refusal,
  says,
  story,
} from '../support/api-kit.ts';
import {
  called,
  completions,
  eventsIn,
  hitlWorlds,
  inboxToml,
  notice,
  noticesOf,
  SECRET,
  toldModel,
} from '../support/hitl-kit.ts';
import type { SystemOptions } from '../support/system-world.ts';
import { answer, silence } from '../support/webhook-replies.ts';
import { REASON_SCHEMA, registerAskingTools } from './mcp-fixtures/asking-tools.ts';

/** A server asks a person while it executes a call; the inbox, or a webhook, has the answer. */

const { start, startWebhook } = hitlWorlds();
const SERVER = fileURLToPath(new URL('./mcp-fixtures/asking-server.ts', import.meta.url));

const STDIO = `[mcp.servers.asking]
transport = "stdio"
cmd = ${JSON.stringify([process.execPath, SERVER])}
`;

/** Nothing is held back by a rule: only the server asks. */
const FREE = { requires: [] };

type By = 'stdio' | 'http_streamable';

const serverOf = (by: By, hitl: string): SystemOptions =>
  by === 'stdio'
    ? { toml: STDIO + hitl }
    : { mcp: ['web'], web: { tools: registerAskingTools }, toml: hitl };

const ASK = { id: 'call_1', name: 'ask', arguments: { message: 'Why?' } };

/** A run whose tool asks. */
async function asking(by: By, hitl = inboxToml(FREE), call = ASK) {
  const world = await start(serverOf(by, hitl));
  world.answer(calls(call), says('Done.'));
  const { run_id: runId } = await begin(world);
  const reader = eventsOf(world, runId);
  const id = await askedOf(reader);
  const toldServer = async () => JSON.parse((await toldModel(world))['call_1'] ?? '') as unknown;
  return { world, runId, reader, id, toldServer };
}

describe.each<By>(['stdio', 'http_streamable'])('a server over %s that asks', (by) => {
  const server = by === 'stdio' ? 'asking' : 'web';
  const origin = { kind: 'elicitation', server, message: 'Why?', schema: REASON_SCHEMA };

  it('has its question in the inbox, and gets what fits its schema, and nothing else', async () => {
    const { world, runId, id, toldServer } = await asking(by);
    expect(await world.ask(`/v1/approvals/${id}`).json()).toMatchObject({
      origin,
      tool_name: 'ask',
      tool_call_id: 'call_1',
      state: 'pending',
      may: { edit: false, grant: false },
    });
    const filtered = await world.ask('/v1/approvals?origin=elicitation').json();
    expect(filtered).toMatchObject({ data: [{ decision_id: id }] });
    expect(await recordOf(world, runId)).toMatchObject({ state: 'waiting', approvals: [id] });
    for (const body of [
      { approved: true },
      { approved: true, content: {} },
      { approved: true, content: { reason: 'no' } },
      { approved: true, content: { reason: 17 } },
    ]) {
      const refused = await refusal(decide(world, id, body));
      expect(refused).toEqual([422, 'invalid_content', 'content']);
    }
    const yes = { approved: true, content: { reason: 'because' } };
    expect(await decide(world, id, yes).status()).toBe(204);
    const events = await story(world, runId);
    expect(await toldServer()).toEqual([{ action: 'accept', content: { reason: 'because' } }]);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { decision_id: id, outcome: { kind: 'approved' }, content: { reason: 'because' } },
    ]);
    expect(completions(events).get('call_1')).toMatchObject({ success: true });
    expect(await decide(world, id, yes).status()).toBe(204);
    const other = { approved: true, content: { reason: 'other' } };
    expect(await decide(world, id, other).status()).toBe(404);
  });

  it('is told "decline" when the person refuses', async () => {
    const { world, runId, id, toldServer } = await asking(by);
    const withContent = { approved: false, content: { reason: 'because' } };
    expect(await refusal(decide(world, id, withContent))).toMatchObject([
      400,
      expect.any(String),
      'content',
    ]);
    expect(await decide(world, id, { approved: false, reason: 'no' }).status()).toBe(204);
    const events = await story(world, runId);
    expect(await toldServer()).toEqual([{ action: 'decline' }]);
    expect(completions(events).get('call_1')).toMatchObject({ success: true });
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { outcome: { kind: 'denied', reason: 'no' } },
    ]);
  });

  it('is told "cancel" when nobody answers, and its call goes on', async () => {
    const { world, runId, toldServer } = await asking(by, inboxToml({ ...FREE, timeoutSecs: 0.3 }));
    const events = await story(world, runId);
    expect(await toldServer()).toEqual([{ action: 'cancel' }]);
    const [end] = completions(events).values();
    expect(end).toMatchObject({ success: true });
    expect(end?.approval).toBeUndefined();
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { outcome: { kind: 'timed_out' } },
    ]);
  });

  it('is stopped with its run, whose cancel ends the question', async () => {
    const { world, runId, id } = await asking(by);
    await control(world, runId, 'cancel').answered;
    const events = await story(world, runId);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { decision_id: id, outcome: { kind: 'cancelled', reason: 'external' } },
    ]);
    const late = { approved: true, content: { reason: 'because' } };
    expect(await decide(world, id, late).status()).toBe(404);
    expect(await world.ask('/v1/approvals?state=pending').json()).toMatchObject({ data: [] });
  });

  it('has its call approved first where a rule says so, and may ask again and again', async () => {
    const call = { ...ASK, arguments: { message: 'Why?', times: 2 } };
    const at = await asking(by, inboxToml({ requires: ['ask'] }), call);
    const { world, runId, reader, toldServer } = at;
    await decide(world, at.id, { approved: true }).answered;
    const seen = new Set([at.id]);
    for (const reason of ['first', 'second']) {
      const { payload } = await heard(
        reader,
        (event) => event.type === 'approval_pending' && !seen.has(event.decision_id),
      );
      const { decision_id: id } = payload.event as { decision_id: string };
      seen.add(id);
      await decide(world, id, { approved: true, content: { reason } }).answered;
    }
    const events = await story(world, runId);
    expect(await toldServer()).toEqual(
      ['first', 'second'].map((reason) => ({ action: 'accept', content: { reason } })),
    );
    const kinds = eventsIn(events, 'approval_requested').map((event) => event.origin.kind);
    expect(kinds).toEqual(['config_gate', 'elicitation', 'elicitation']);
  });

  it('has time of its own: the wait is not the tool’s', async () => {
    const toml = `[runtime.timeouts]\ntool_secs = 1.2\n${inboxToml({
      ...FREE,
      lines: 'reminder_secs = 0.5',
    })}`;
    const { world, runId, id, reader, toldServer } = await asking(by, toml);
    await reader.until(({ body }) => body.split('"approval_reminder"').length > 4);
    const yes = { approved: true, content: { reason: 'because' } };
    expect(await decide(world, id, yes).status()).toBe(204);
    await story(world, runId);
    expect(await toldServer()).toMatchObject([{ action: 'accept' }]);
  });
});

describe('a webhook that is asked what a server asks', () => {
  const web = { requires: [], web: { tools: registerAskingTools } };
  const signing = { secret: SECRET };

  it('answers with content', async () => {
    const { world, receiver } = await startWebhook(web);
    receiver.reply(answer({ approved: true, content: { reason: 'because' } }, { signing }));
    world.answer(calls(ASK), says('Done.'));
    const { run_id: runId } = await begin(world);
    await story(world, runId);
    expect((await receiver.next('question')).body).toMatchObject({
      origin: { kind: 'elicitation', server: 'web', message: 'Why?', schema: REASON_SCHEMA },
      items: [{ tool_name: 'ask', arguments: { message: 'Why?' } }],
    });
    expect(JSON.parse((await toldModel(world))['call_1'] ?? '')).toEqual([
      { action: 'accept', content: { reason: 'because' } },
    ]);
    expect(receiver.notices).toEqual([]);
  });

  it('with content that does not fit gives the server none, and is told', async () => {
    const { world, receiver } = await startWebhook(web);
    receiver.reply(answer({ approved: true, content: { reason: 17 } }, { signing }));
    world.answer(calls(ASK), says('Done.'));
    const { run_id: runId } = await begin(world);
    const events = await story(world, runId);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { outcome: { kind: 'errored' } },
    ]);
    expect(JSON.parse((await toldModel(world))['call_1'] ?? '')).toEqual([{ action: 'cancel' }]);
    const { decisionId } = await receiver.next('question');
    expect(noticesOf(receiver)).toEqual([notice(decisionId, 'errored')]);
  });

  it('is told when the run is cancelled', async () => {
    const { world, receiver } = await startWebhook(web);
    receiver.reply(silence());
    world.answer(calls(ASK));
    const { run_id: runId } = await begin(world);
    const { decisionId, gone } = await receiver.next('question');
    await control(world, runId, 'cancel').answered;
    await gone;
    const events = await story(world, runId);
    expect(noticesOf(receiver)).toEqual([notice(decisionId, 'external')]);
    expect(eventsIn(events, 'approval_withdrawn')).toMatchObject([{ notified: true }]);
    expect(called(world)).toHaveLength(1);
  });
});

it('a server whose agent asks nobody is told that nobody can be asked', async () => {
  const world = await start(serverOf('http_streamable', ''));
  world.answer(calls(ASK), says('Done.'));
  const { run_id: runId } = await begin(world);
  const events = await story(world, runId);
  expect(eventsIn(events, 'approval_requested')).toEqual([]);
  expect((await toldModel(world))['call_1']).not.toContain('accept');
});
