import { describe, expect, it } from 'vitest';
import { begin, calls, control, decide, recordOf, says, story } from '../support/api-kit.ts';
import {
  approved,
  called,
  completions,
  decideSigned,
  denied,
  eventsIn,
  hitlWorlds,
  inboxToml,
  noticesOf,
  toldModel,
} from '../support/hitl-kit.ts';
import type { SystemWorld } from '../support/system-world.ts';
import type { WebhookRequest } from '../support/webhook-receiver.ts';
import { silence, status, type WebhookReply } from '../support/webhook-replies.ts';

/** Several approvals of one turn: each has its own end, and none costs another its result. */

const { start, startWebhook } = hitlWorlds();

const echo = (said: string) => ({ id: `call_${said}`, name: 'echo', arguments: { said } });
const FOUR = ['a', 'b', 'c', 'd'].map(echo);

/** The decision of each call, once all four are asked for. */
async function decisions(world: SystemWorld): Promise<Readonly<Record<string, string>>> {
  const ids: Record<string, string> = {};
  await world.entry('s', (event) => {
    if (event.type === 'approval_requested') ids[event.tool_call_id] = event.decision_id;
    return Object.keys(ids).length === FOUR.length;
  });
  return ids;
}

const saidIn = ({ body }: WebhookRequest): string =>
  String((body['items'] as { arguments: { said: string } }[])[0]?.arguments.said);

describe('four approvals of one turn', () => {
  it('from the inbox: approved, denied, and two that nobody answers', async () => {
    const world = await start({ mcp: ['web'], toml: inboxToml({ timeoutSecs: 1.5 }) });
    world.answer(calls(...FOUR), says('Done.'));
    const { run_id: runId } = await begin(world);
    const ids = await decisions(world);
    expect(new Set((await recordOf(world, runId)).approvals)).toEqual(new Set(Object.values(ids)));
    const inbox = await world.ask(`/v1/approvals?state=pending&run_id=${runId}`).json();
    expect(inbox['data']).toHaveLength(4);
    const [yes, no] = await Promise.all([
      decide(world, ids['call_c'] ?? '', { approved: true }).status(),
      decide(world, ids['call_a'] ?? '', { approved: false, reason: 'no' }).status(),
    ]);
    expect([yes, no]).toEqual([204, 204]);
    await world.entry(
      's',
      (event) => event.type === 'tool_complete' && event.success && !event.approval,
    );
    const events = await story(world, runId);
    const ends = completions(events);
    expect(ends.get('call_a')).toMatchObject({ success: true, approval: 'denied' });
    expect(ends.get('call_b')).toMatchObject({ success: false, approval: 'timed_out' });
    expect(ends.get('call_c')).toMatchObject({ success: true, result: 'c' });
    expect(ends.get('call_d')).toMatchObject({ success: false, approval: 'timed_out' });
    expect(called(world)).toEqual([['echo', { said: 'c' }]]);
    const told = await toldModel(world);
    expect(Object.keys(told)).toEqual(FOUR.map(({ id }) => id));
    expect(told).toMatchObject({ call_c: 'c', call_d: 'tool call denied: approval timed out' });
  });

  it('by a webhook, with every ending at once: the results that there are stay', async () => {
    const { world, receiver } = await startWebhook();
    const replies: Readonly<Record<string, WebhookReply>> = {
      a: approved(),
      b: denied('not b'),
      c: status(400),
      d: silence(),
    };
    receiver.reply((request, index) => replies[saidIn(request)]?.(request, index));
    world.answer(calls(...FOUR));
    const { run_id: runId } = await begin(world);
    const ended = new Set<string>();
    await world.entry('s', (event) => {
      if (event.type === 'tool_complete') ended.add(event.tool_id);
      return ended.size === 3;
    });
    await control(world, runId, 'cancel').answered;
    const events = await story(world, runId);
    const ends = completions(events);
    expect(ends.get('call_a')).toMatchObject({ success: true, result: 'a' });
    expect(ends.get('call_b')).toMatchObject({ success: true, approval: 'denied' });
    expect(ends.get('call_c')).toMatchObject({
      success: false,
      error: expect.stringContaining('channel error'),
    });
    expect(ends.get('call_d')).toMatchObject({ success: false, approval: 'cancelled' });
    expect(called(world)).toEqual([['echo', { said: 'a' }]]);
    const taken = noticesOf(receiver) as { decision_id: string; reason: string }[];
    const ids = await decisions(world);
    expect(Object.fromEntries(taken.map(({ decision_id: id, reason }) => [id, reason]))).toEqual({
      [ids['call_c'] ?? '']: 'errored',
      [ids['call_d'] ?? '']: 'external',
    });
  });

  it('are each decided by the one decision that is theirs', async () => {
    const { world, receiver } = await startWebhook();
    receiver.reply(silence());
    world.answer(calls(...FOUR), says('Done.'));
    const { run_id: runId } = await begin(world);
    for (const _ of FOUR) await receiver.next('question');
    const ids = Object.entries(await decisions(world));
    const statuses = await Promise.all(
      ids.map(([call, id]) => decideSigned(world, id, { approved: call < 'call_c' }).status()),
    );
    expect(statuses).toEqual([204, 204, 204, 204]);
    const events = await story(world, runId);
    const completed = eventsIn(events, 'approval_completed');
    const kinds = completed.map(({ tool_call_id: call, outcome }) => [call, outcome.kind]);
    expect(Object.fromEntries(kinds)).toEqual({
      call_a: 'approved',
      call_b: 'approved',
      call_c: 'denied',
      call_d: 'denied',
    });
    expect(called(world)).toHaveLength(2);
    expect(receiver.notices).toHaveLength(4);
  });
});
