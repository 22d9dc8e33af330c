import { describe, expect, it } from 'vitest';
import {
  begin,
  calls,
  control,
  decide,
  ECHO,
  ended,
  refusal,
  says,
  story,
} from '../support/api-kit.ts';
import { asking, resumed } from '../support/api-runs.ts';
import { called, eventsIn, hitlWorlds, inboxToml, SECRET, toldModel } from '../support/hitl-kit.ts';
import type { SystemWorld } from '../support/system-world.ts';
import { answer } from '../support/webhook-replies.ts';

/**
 * Arguments that an approver sends along. Those that the tool would not take must not use the approval
 * up, those that are the model's own are no edit, and none runs that does not fit.
 */

const { start, startWebhook } = hitlWorlds();
const LINES = { lines: 'allow_argument_edits = true' };
const withArguments = (edited: object) => ({ approved: true, arguments: edited });
const SAME = withArguments({ said: 'x' });
const UNFIT = withArguments({ said: 7 });

const startEditable = () => start({ mcp: ['web'], toml: inboxToml(LINES) });

const isPending = async (world: SystemWorld, id: string): Promise<boolean> =>
  (await world.ask(`/v1/approvals/${id}`).json())['state'] === 'pending';

describe('arguments that the tool does not take', () => {
  it.each([
    [{ said: 7 }, 'must be a text, not a number'],
    [{}, 'is missing'],
  ])('such as %o are refused by name, and the approval stays open', async (edited, problem) => {
    const world = await startEditable();
    const { runId, id } = await asking(world);
    const refused = decide(world, id, withArguments(edited));
    expect(await refusal(refused)).toEqual([422, 'invalid_arguments', 'arguments.said']);
    const { error } = await refused.json();
    expect(error).toMatchObject({ message: expect.stringContaining(`said\` ${problem}. Give `) });
    expect(await isPending(world, id)).toBe(true);
    world.answer(says('Done.'));
    expect(await decide(world, id, withArguments({ said: 'right' })).status()).toBe(204);
    await ended(world, runId);
    expect(called(world)).toEqual([['echo', { said: 'right' }]]);
  });

  it('are no answer of a webhook: it has failed, and nothing runs', async () => {
    const { world, receiver } = await startWebhook(LINES);
    receiver.reply(answer(UNFIT, { signing: { secret: SECRET } }));
    world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await begin(world);
    const [completed] = eventsIn(await story(world, runId), 'approval_completed');
    expect(completed?.outcome).toMatchObject({
      kind: 'errored',
      message: expect.stringContaining('`arguments.said` must be a text'),
    });
    expect(called(world)).toEqual([]);
  });

  it('do not run when the run was parked as they were given, and the model is told', async () => {
    const world = await startEditable();
    const { runId, id } = await asking(world);
    await control(world, runId, 'park').answered;
    await ended(world, runId);
    expect(await decide(world, id, UNFIT).status()).toBe(204);
    world.answer(says('Done.'));
    const events = await story(world, await resumed(world, runId));
    expect(called(world)).toEqual([]);
    expect(eventsIn(events, 'tool_start')).toEqual([]);
    expect(eventsIn(events, 'tool_complete')).toMatchObject([{ success: false }]);
    expect((await toldModel(world))['call_1']).toContain(
      'do not fit the tool: `arguments.said` must be a text',
    );
  });
});

describe('arguments that are those of the model', () => {
  const REPLAYS: readonly (readonly [object, number])[] = [
    [{ approved: true }, 204],
    [SAME, 204],
    [withArguments({ said: 'y' }), 404],
  ];

  async function expectNoEdit(world: SystemWorld, id: string, runId: string): Promise<void> {
    const events = await story(world, runId);
    const [completed] = eventsIn(events, 'approval_completed');
    expect(completed).toMatchObject({ outcome: { kind: 'approved' } });
    expect(completed).not.toHaveProperty('edited');
    expect(called(world)).toEqual([['echo', { said: 'x' }]]);
    expect((await toldModel(world))['call_1']).toBe('x');
    for (const [body, status] of REPLAYS) {
      expect([body, await decide(world, id, body).status()]).toEqual([body, status]);
    }
  }

  it.each([SAME, { approved: true }])('are no edit on record: %o', async (body) => {
    const world = await startEditable();
    const { runId, id } = await asking(world);
    world.answer(says('Done.'));
    expect(await decide(world, id, body).status()).toBe(204);
    await expectNoEdit(world, id, runId);
  });

  it('are none of a parked run either', async () => {
    const world = await startEditable();
    const { runId, id } = await asking(world);
    await control(world, runId, 'park').answered;
    await ended(world, runId);
    expect(await decide(world, id, SAME).status()).toBe(204);
    for (const [body, status] of REPLAYS) {
      expect([body, await decide(world, id, body).status()]).toEqual([body, status]);
    }
    expect(await world.ask(`/v1/approvals/${id}`).json()).toMatchObject({ edited: null });
    world.answer(says('Done.'));
    await expectNoEdit(world, id, await resumed(world, runId));
  });

  it('are none of a webhook', async () => {
    const { world, receiver } = await startWebhook(LINES);
    receiver.reply(answer(SAME, { signing: { secret: SECRET } }));
    world.answer(calls(ECHO), says('Done.'));
    const { run_id: runId } = await begin(world);
    const [completed] = eventsIn(await story(world, runId), 'approval_completed');
    expect(completed).toMatchObject({ outcome: { kind: 'approved' }, decided_by: 'webhook' });
    expect(completed).not.toHaveProperty('edited');
    expect((await toldModel(world))['call_1']).toBe('x');
  });
});
