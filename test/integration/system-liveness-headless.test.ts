import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import {
  begin,
  calls,
  ended,
  eventsOf,
  gated,
  heard,
  lifecycle,
  recordOf,
  says,
  WAITS,
} from '../support/api-kit.ts';
import { systemWorlds } from '../support/system-world.ts';

/** What becomes of a headless run when the claims that others made on it go. */

const start = systemWorlds();

describe('a headless run', () => {
  it.each([
    ['cancel', 'cancelled'],
    ['continue', 'finished'],
  ])('under %s whose only claim goes is %s', async (policy, state) => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer);
    const { run_id: runId } = await begin(world, { liveness: { policy } });
    const reader = eventsOf(world, runId);
    const holder = eventsOf(world, runId, '?claim=true');
    await heard(holder, ({ type }) => type === 'text_delta');
    await heard(reader, ({ type }) => type === 'observer_attached');
    await holder.leave();
    await heard(reader, ({ type }) => type === 'liveness_decided');
    go();
    expect(await ended(world, runId)).toMatchObject({ state });
  });

  it('under cancel that nobody ever claimed runs on, without claims_exhausted', async () => {
    const world = await start();
    world.answer(says('a'));
    const { run_id: runId } = await begin(world, { liveness: { policy: 'cancel' } });
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
    expect(await lifecycle(world, runId)).toEqual(['started', 'finished']);
  });

  it('that waits for its session counts its claims: it ends when the last goes, unstarted', async () => {
    const world = await start();
    const { answer, go } = gated('a');
    world.answer(answer);
    const first = await begin(world);
    const body = { on_busy: 'enqueue', liveness: { policy: 'cancel' } };
    const second = await begin(world, body);
    const reader = eventsOf(world, second.run_id);
    const holder = eventsOf(world, second.run_id, '?claim=true');
    await heard(reader, ({ type }) => type === 'observer_attached');
    await holder.leave();
    await reader.all();
    expect(await recordOf(world, second.run_id)).toMatchObject({
      state: 'cancelled',
      started_at: null,
      end: { reason: 'unclaimed' },
    });
    go();
    expect(await ended(world, first.run_id)).toMatchObject({ state: 'finished' });
    expect(world.upstream.requests).toHaveLength(1);
  });

  it('is held by several claims until the last of them has gone', async () => {
    const world = await start({ mcp: ['web'] });
    world.answer(calls(WAITS));
    const { run_id: runId } = await begin(world, { liveness: { policy: 'cancel' } });
    const holders = [1, 2, 3].map(() => eventsOf(world, runId, '?claim=true'));
    for (const each of holders) await heard(each, ({ type }) => type === 'tool_progress');
    expect((await recordOf(world, runId)).claims).toHaveLength(3);
    for (const [at, each] of holders.entries()) {
      const { state, claims } = await recordOf(world, runId);
      expect([state, claims.length]).toEqual(['running', 3 - at]);
      await each.leave();
      await world.entry(
        's',
        (() => {
          let gone = 0;
          return ({ type }: JournalEvent) => type === 'observer_detached' && ++gone === at + 1;
        })(),
      );
    }
    expect(await ended(world, runId)).toMatchObject({ end: { reason: 'unclaimed' } });
  });
});
