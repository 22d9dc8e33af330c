import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import {
  begin,
  calls,
  control,
  decide,
  ECHO,
  ended,
  eventsOf,
  refusal,
  says,
  story,
} from '../support/api-kit.ts';
import { asking, resumed } from '../support/api-runs.ts';
import { called, eventsIn, hitlWorlds, inboxToml, SECRET } from '../support/hitl-kit.ts';
import type { SystemWorld } from '../support/system-world.ts';
import { answer } from '../support/webhook-replies.ts';

/** "Approved for this session": what the approver need not be asked for again, and what he must. */

const { start, startWebhook } = hitlWorlds();

const GRANTS = inboxToml({
  requires: ['{echo,headers}'],
  lines: 'allow_session_grants = true',
});

const FOR_SESSION = { approved: true, grant: 'session' };
const DANGER = `[[hitl.rules]]
tools = ["echo"]
effect = "approve"
when = [{ pointer = "/said", op = "matches", value = "danger" }]
`;

/** A run of the session "s" whose call of `echo` was approved for the whole session. */
async function granted(world: SystemWorld): Promise<string> {
  const { runId, id } = await asking(world, { session_id: 's' });
  world.answer(says('Done.'));
  expect(await decide(world, id, FOR_SESSION).status()).toBe(204);
  await ended(world, runId);
  return id;
}

/** A run whose one call needs nobody. */
async function unasked(world: SystemWorld, call = ECHO): Promise<readonly JournalEvent[]> {
  world.answer(calls(call), says('Done.'));
  const { run_id: runId } = await begin(world);
  return story(world, runId);
}

/** A run whose one call waits for a person, who refuses. */
async function askedAnew(world: SystemWorld, session: string, call: typeof ECHO): Promise<void> {
  const before = called(world).length;
  world.answer(calls(call), says('Done.'));
  const { run_id: runId } = await begin(world, { session_id: session });
  const reader = eventsOf(world, runId);
  await reader.until(({ body }) => body.includes('"approval_pending"'));
  const [item] = (await world.ask('/v1/approvals?state=pending').json())['data'] as {
    decision_id: string;
  }[];
  await decide(world, String(item?.decision_id), { approved: false }).answered;
  await reader.all();
  expect(called(world)).toHaveLength(before);
}

describe('an approval for the session', () => {
  it('covers the same call again, in this run and in later ones, each on record', async () => {
    const world = await start({ mcp: ['web'], toml: GRANTS });
    const { runId, id } = await asking(world);
    expect(await world.ask(`/v1/approvals/${id}`).json()).toMatchObject({ may: { grant: true } });
    world.answer(calls({ ...ECHO, id: 'call_2', arguments: { said: 'y' } }), says('Done.'));
    expect(await decide(world, id, FOR_SESSION).status()).toBe(204);
    const events = [...(await story(world, runId)), ...(await unasked(world))];
    expect(eventsIn(events, 'approval_pending')).toHaveLength(1);
    expect(eventsIn(events, 'approval_requested')).toHaveLength(3);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { decision_id: id, outcome: { kind: 'approved' }, grant: 'session' },
      { outcome: { kind: 'approved' }, granted_by: id },
      { outcome: { kind: 'approved' }, granted_by: id },
    ]);
    expect(called(world)).toHaveLength(3);
  });

  it('covers no other session, tool or pattern', async () => {
    const world = await start({ mcp: ['web'], toml: GRANTS + DANGER });
    await granted(world);
    await askedAnew(world, 'other', ECHO);
    await askedAnew(world, 's', { ...ECHO, name: 'headers' });
    await askedAnew(world, 's', { ...ECHO, arguments: { said: 'danger' } });
    expect(eventsIn(await unasked(world), 'approval_pending')).toEqual([]);
  });

  it('of a parked run counts when that goes on and has told it, and not before', async () => {
    const world = await start({ mcp: ['web'], toml: GRANTS });
    const { runId, id } = await asking(world);
    await control(world, runId, 'park').answered;
    await ended(world, runId);
    expect(await decide(world, id, FOR_SESSION).status()).toBe(204);
    await askedAnew(world, 's', ECHO);
    world.answer(says('Done.'));
    await ended(world, await resumed(world, runId));
    const [completed] = eventsIn(await unasked(world), 'approval_completed');
    expect(completed).toMatchObject({ granted_by: id });
  });

  it('by a webhook covers what that would be asked next, and an edit of it is for one call', async () => {
    const lines = 'allow_session_grants = true\nallow_argument_edits = true';
    const { world, receiver } = await startWebhook({ lines });
    const edited = { approved: true, arguments: { said: 'edited' } };
    const bodies = [edited, FOR_SESSION];
    receiver.reply((request, index) =>
      answer(bodies[index], { signing: { secret: SECRET } })(request, index),
    );
    const call = (id: string) => calls({ ...ECHO, id });
    world.answer(call('call_1'), call('call_2'), call('call_3'), says('Done.'));
    const { run_id: runId } = await begin(world);
    const events = await story(world, runId);
    expect(called(world)).toEqual(['edited', 'x', 'x'].map((said) => ['echo', { said }]));
    expect(receiver.questions).toHaveLength(2);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { decided_by: 'webhook', edited: { arguments: { said: 'edited' } } },
      { decided_by: 'webhook', grant: 'session' },
      { granted_by: receiver.questions[1]?.decisionId },
    ]);
  });

  it('outlives the server, and gives way to a rule that forbids', async () => {
    const first = await start({ mcp: ['web'], toml: GRANTS });
    const id = await granted(first);
    first.server.shutdown('SIGTERM');
    await first.server.stopped;
    const { dataDir } = first;
    const second = await start({ mcp: ['web'], toml: GRANTS, dataDir });
    const events = await unasked(second);
    expect(eventsIn(events, 'approval_pending')).toEqual([]);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([{ granted_by: id }]);
    expect(called(second)).toHaveLength(1);
    second.server.shutdown('SIGTERM');
    await second.server.stopped;
    const toml = `${GRANTS}[[hitl.rules]]\ntools = ["echo"]\neffect = "deny"\n`;
    const third = await start({ mcp: ['web'], toml, dataDir });
    const denied = await unasked(third);
    expect(eventsIn(denied, 'tool_complete')).toMatchObject([{ forbidden_by: 'echo' }]);
    expect(called(third)).toEqual([]);
  });

  it('is refused where that is off, and counts no more once it was switched off', async () => {
    const off = inboxToml({ requires: ['{echo,headers}'] });
    const first = await start({ mcp: ['web'], toml: off });
    const { runId, id } = await asking(first);
    expect(await refusal(decide(first, id, FOR_SESSION))).toEqual([
      422,
      'grants_not_allowed',
      'grant',
    ]);
    expect(await first.ask(`/v1/approvals/${id}`).json()).toMatchObject({ state: 'pending' });
    first.answer(says('Done.'));
    await decide(first, id, { approved: false }).answered;
    await ended(first, runId);
    first.server.shutdown('SIGTERM');
    await first.server.stopped;
    const { dataDir } = first;
    const second = await start({ mcp: ['web'], toml: GRANTS, dataDir });
    await granted(second);
    second.server.shutdown('SIGTERM');
    await second.server.stopped;
    const third = await start({ mcp: ['web'], toml: off, dataDir });
    await askedAnew(third, 's', ECHO);
  });
});
