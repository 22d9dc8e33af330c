import { describe, expect, it } from 'vitest';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import type { LivenessPolicy } from '../../src/handle.ts';
import { Host } from '../support/recovery-host.ts';

/** A stop that was accepted is kept though the process is lost before the run has ended (INV-07). */

const AGENT = { tools: ['work'] };
const EXPIRED = { afterMs: JOURNAL_LIMITS.leaseTtlMs };

describe.each(['cancel', 'continue', 'park'] as const)(
  'a stopped run under %s',
  (policy: LivenessPolicy) => {
    it('ends as cancelled when its process is lost while it stops, and never comes back', async () => {
      const host = new Host();
      const first = await host.boot(AGENT);
      const run = await first.start({ liveness: { policy, graceMs: 0 } });
      first.tools.deaf.add('work');
      first.model.turn.call('work', {}, 'w').finish('tool_calls');
      await first.clock.settle();
      await run.cancel('enough');
      expect((await run.record()).state).toBe('stopping');
      first.kill();
      const second = await host.boot({ ...AGENT, recover: 'resume', resumeOnStart: true }, EXPIRED);
      await second.clock.settle();
      const record = await second.supervisor.record(run.runId);
      expect(record).toMatchObject({
        state: 'cancelled',
        end: { by: 'operator', reason: 'external', error: null },
        continued_by: null,
      });
      expect(second.model.turns).toEqual([]);
      await host.expectSound();
    });
  },
);

describe('a run that another process has', () => {
  it('is neither stopped, parked nor resumed here, and whoever asks is told so', async () => {
    const host = new Host();
    const first = await host.boot(AGENT);
    const run = await first.start();
    const second = await host.boot(AGENT);
    const elsewhere = { code: 'run_elsewhere' };
    await expect(second.supervisor.cancel(run.runId, {})).rejects.toMatchObject(elsewhere);
    await expect(second.supervisor.park(run.runId)).rejects.toMatchObject(elsewhere);
    await expect(second.supervisor.resume(run.runId, {})).rejects.toMatchObject(elsewhere);
    first.model.turn.say('hi').finish();
    await run.event('finished');
    expect(await second.supervisor.cancel(run.runId, {})).toMatchObject({ state: 'finished' });
  });
});
