import { describe, expect, it } from 'vitest';
import type { StartRun } from '../../src/handle.ts';
import { ManualWebhook } from '../support/manual-webhook.ts';
import {
  asks,
  EXPIRY_MS,
  lastId,
  optionsOf,
  PARK,
  playOut,
  settled,
  signed,
  takenBack,
  told,
} from '../support/parked-webhook-kit.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';

/**
 * Hazard: nobody is left to take a question to a webhook back when its process is gone. The next one does,
 * and the run that goes on asks anew.
 */

describe('a webhook whose process is lost', () => {
  /** By then nobody believes any more that the process before has its sessions. */
  const LATER = { afterMs: 20_000 };

  async function lost(change: Partial<StartRun> = PARK) {
    const webhook = new ManualWebhook();
    const host = new Host();
    const at = await asks(webhook, await host.boot(optionsOf(webhook)), change);
    at.world.kill();
    return { ...at, host };
  }

  const again = ({ host, webhook }: { host: Host; webhook: ManualWebhook }, change = {}) =>
    host.boot(optionsOf(webhook, change), LATER);

  it.each(['continue', 'park'] as const)('under %s is told so, and asked anew', async (policy) => {
    const at = await lost({ liveness: { policy, graceMs: 0 } });
    const { webhook, host, decisionId } = at;
    const second = await again(at);
    await settled(second);
    expect(webhook.notices).toEqual([{ decisionId, reason: 'owner_lost' }]);
    const run = second.run(at.run.runId, at.run.sessionId);
    expect(await told(run)).toMatchObject(takenBack(at, 'owner_lost'));
    expect(await signed(second, decisionId)).toBe('unknown');
    await second.clock.advance(2 * EXPIRY_MS);
    expect(await run.record()).toMatchObject({ state: 'parked', continued_by: null });

    await second.resume(run);
    expect(webhook.questions).toHaveLength(2);
    expect(lastId(webhook)).not.toBe(decisionId);
    expect(second.tools.executions).toEqual([]);
    await playOut({ webhook, world: second });
    expect(second.tools.executions).toHaveLength(1);
    expect(webhook.notices).toHaveLength(1);
    await host.expectSound();
  });

  it.each([{ recover: 'resume' as const }, { resumeOnStart: true }])(
    'is told so and asked anew at once with %o',
    async (change) => {
      const at = await lost();
      const { webhook, host, decisionId } = at;
      const second: HostProcess = await again(at, change);
      await settled(second);
      expect(webhook.notices).toEqual([{ decisionId, reason: 'owner_lost' }]);
      expect(webhook.questions).toHaveLength(2);
      expect(lastId(webhook)).not.toBe(decisionId);
      await playOut({ webhook, world: second });
      expect(second.tools.executions).toHaveLength(1);
      await host.expectSound();
    },
  );

  it('under cancel is told so, and asked no more', async () => {
    const at = await lost({});
    const second = await again(at, { recover: 'resume', resumeOnStart: true });
    await settled(second);
    expect(at.webhook.notices).toEqual([{ decisionId: at.decisionId, reason: 'owner_lost' }]);
    expect(at.webhook.questions).toHaveLength(1);
    await at.host.expectSound();
  });

  it('while its run parks is told again, of what was on record, and asked anew', async () => {
    const webhook = new ManualWebhook();
    const host = new Host();
    const at = await asks(webhook, await host.boot(optionsOf(webhook)));
    webhook.manner = 'unheard';
    await at.run.release();
    expect(webhook.notices).toHaveLength(1);
    at.world.kill();
    webhook.manner = 'taken';
    const second = await again({ host, webhook });
    await settled(second);
    const { decisionId } = at;
    const notice = { decisionId, reason: 'unclaimed' };
    expect(webhook.notices).toEqual([notice, notice]);
    const run = second.run(at.run.runId, at.run.sessionId);
    expect(await told(run)).toMatchObject(takenBack(at, 'unclaimed'));
    await second.resume(run);
    await playOut({ webhook, world: second });
    expect(webhook.questions).toHaveLength(2);
    expect(second.tools.executions).toHaveLength(1);
    await host.expectSound();
  });

  it('with its run parked is told nothing more', async () => {
    const webhook = new ManualWebhook();
    const host = new Host();
    const at = await asks(webhook, await host.boot(optionsOf(webhook)));
    await at.run.park();
    at.world.kill();
    const second = await host.boot(optionsOf(webhook, { resumeOnStart: true }), {
      afterMs: 2 * EXPIRY_MS,
    });
    await settled(second);
    expect(webhook.notices).toHaveLength(1);
    expect(webhook.questions).toHaveLength(1); // By hand, so it waits for who resumes it.
    await host.expectSound();
  });
});
