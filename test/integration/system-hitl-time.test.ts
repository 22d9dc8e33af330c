import { describe, expect, it } from 'vitest';
import {
  askedOf,
  begin,
  calls,
  decide,
  ECHO,
  ended,
  eventsOf,
  heard,
  recordOf,
  says,
  story,
} from '../support/api-kit.ts';
import { called, eventsIn, hitlWorlds, inboxToml } from '../support/hitl-kit.ts';
import type { SystemWorld } from '../support/system-world.ts';
import { silence } from '../support/webhook-replies.ts';

/** Waiting for a person takes long, and what else has a clock does not pay for it. */

const { start, startWebhook } = hitlWorlds();
const DAYS_30 = 30 * 86_400;

/** How long it has waited shows in its reminders; they are what a test waits for. */
const reminded = async (world: SystemWorld, times: number): Promise<void> => {
  let seen = 0;
  await world.entry('s', ({ type }) => type === 'approval_reminder' && (seen += 1) === times);
};

describe('an approval that waits', () => {
  it('tells so in events, to the journal and to the client, until it is decided', async () => {
    const world = await start({ mcp: ['web'], toml: inboxToml({ lines: 'reminder_secs = 0.1' }) });
    world.answer(calls(ECHO), says('Done.'));
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await chat.until((so) => so.data('aura.approval_reminder').length === 3);
    const [pending] = chat.data('aura.approval_pending');
    const id = String(pending?.['decision_id']);
    await decide(world, id, { approved: true }).answered;
    await chat.all();
    const told = chat.data('aura.approval_reminder');
    expect(told.slice(0, 3)).toEqual(
      Array.from({ length: 3 }, () => ({
        decision_id: id,
        tool_name: 'echo',
        waited_ms: expect.any(Number),
        expires_at: pending?.['expires_at'],
        choices: [],
      })),
    );
    const waits = told.map((reminder) => Number(reminder['waited_ms']));
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(eventsIn(await world.journal('s'), 'approval_reminder')).toHaveLength(told.length);
    expect(called(world)).toHaveLength(1);
  });

  it('of a webhook tells so, too, and asks once', async () => {
    const { world, receiver } = await startWebhook({
      lines: 'reminder_secs = 0.1',
      timeoutSecs: 0.45,
    });
    receiver.reply(silence());
    world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await begin(world);
    const events = await story(world, runId);
    expect(eventsIn(events, 'approval_reminder').length).toBeGreaterThanOrEqual(2);
    expect(receiver.questions).toHaveLength(1);
    expect(eventsIn(events, 'approval_completed')).toMatchObject([
      { outcome: { kind: 'timed_out', waited_ms: 450 } },
    ]);
  });

  it('may wait for 30 days', async () => {
    const lines = 'pause_total = true';
    const toml = inboxToml({ timeoutSecs: DAYS_30, lines });
    const world = await start({ mcp: ['web'], toml });
    world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await begin(world);
    const id = await askedOf(eventsOf(world, runId));
    const { expires_at: end, requested_at: from } = await world.ask(`/v1/approvals/${id}`).json();
    expect(Number(end) - Number(from)).toBe(DAYS_30 * 1_000);
    expect(await decide(world, id, { approved: true }).status()).toBe(204);
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
  });

  it('stops the clocks of step, tool, first chunk and inactivity', async () => {
    const timeouts = `[runtime.timeouts]
step_secs = 1.2
step_allowance_secs = 0
tool_secs = 1.2
`;
    const flags = { 'first-chunk-timeout-secs': '1.2', 'stream-inactivity-timeout-secs': '1.2' };
    const toml = timeouts + inboxToml({ lines: 'reminder_secs = 0.5' });
    const world = await start({ mcp: ['web'], toml, flags });
    world.answer(calls(ECHO), says('Done.'));
    const chat = world.chat({}, { 'X-Chat-Session-Id': 's' });
    await reminded(world, 4);
    const { deadlines } = await recordOf(world, await chat.runId());
    expect(deadlines).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ which: 'step', suspended: true })]),
    );
    const { decision_id: id } = await world.event('s', 'approval_pending');
    await decide(world, id, { approved: true }).answered;
    await chat.all();
    expect(chat.text).toContain('Done.');
    expect(chat.finishReasons).toEqual(['stop']);
    expect(called(world)).toHaveLength(1);
  });

  it.each([
    { pauses: true, state: 'finished' },
    { pauses: false, state: 'cancelled' },
  ])('pauses the total of its run as configured: $pauses', async ({ pauses, state }) => {
    const lines = `reminder_secs = 0.4\npause_total = ${pauses}`;
    const world = await start({ mcp: ['web'], toml: inboxToml({ lines, timeoutSecs: 2.5 }) });
    world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await begin(world, { timeout_ms: 1_500 });
    const reader = eventsOf(world, runId);
    await heard(reader, ({ type }) => type === 'approval_completed');
    const record = await ended(world, runId);
    expect(record).toMatchObject({ state });
    const events = await world.journal('s');
    const kind = pauses ? 'timed_out' : 'cancelled';
    expect(eventsIn(events, 'approval_completed')).toMatchObject([{ outcome: { kind } }]);
    if (pauses) return;
    expect(eventsIn(events, 'cancelled')).toMatchObject([{ reason: 'deadline', which: 'total' }]);
  });
});
