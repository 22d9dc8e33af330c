import { describe, expect, it } from 'vitest';
import { RunWorld } from '../support/run-world.ts';

/** Arguments that are JSON but nest beyond what can be written again. */
const DEEP = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;

describe('arguments that nest too deep', () => {
  it.each([{}, { requireApproval: ['work'] }])(
    'fail their call alone, and the run goes on (%j)',
    async (options) => {
      const world = new RunWorld({ tools: ['work'], ...options });
      const run = await world.start();
      world.model.turn.call('work', DEEP, 'a').finish('tool_calls');
      await world.clock.settle();
      const asked = (await run.events()).find((event) => event.type === 'approval_requested');
      if (asked?.type === 'approval_requested') {
        await world.supervisor.decide(asked.decision_id, { approved: true });
        await world.clock.settle();
      }
      expect(world.tools.executions).toEqual([]);
      expect(world.model.turn.request.messages.at(-1)).toEqual({
        role: 'tool',
        toolCallId: 'a',
        content: 'JsonError: the arguments are not a JSON object',
      });
      world.model.turn.say('ok').finish();
      expect(await run.event('tool_requested')).toMatchObject({
        arguments: {},
        arguments_text: DEEP,
      });
      await run.event('finished');
      await world.expectSound();
    },
  );
});
