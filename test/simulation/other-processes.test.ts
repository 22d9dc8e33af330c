import { describe, expect, it } from 'vitest';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import { LOOK_EVERY_MS } from '../../src/other-processes.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { Host } from '../support/recovery-host.ts';

/** Two processes share a store: what one leaves when it dies is looked after by the one that lives. */

/** A store that can tell who else uses it, as the test says. */
function sharedStore() {
  const others = { count: 0 };
  return { others, store: Object.assign(createMemoryStore(), { join: () => others.count }) };
}

const LONG_ENOUGH_MS = 2 * LOOK_EVERY_MS + JOURNAL_LIMITS.leaseTtlMs;

describe('a process that shares its store', () => {
  it('ends the runs of another that began and died after its own start (INV-57)', async () => {
    const { store, others } = sharedStore();
    const host = new Host(store);
    const living = await host.boot();
    others.count = 1;
    const dying = await host.boot();
    const run = await dying.start();
    // Each has a clock of its own; the one that lives on goes on renewing its lease.
    for (let passed = 0; passed < LOOK_EVERY_MS; passed += JOURNAL_LIMITS.leaseBeatMs) {
      await dying.clock.advance(JOURNAL_LIMITS.leaseBeatMs);
      await living.clock.advance(JOURNAL_LIMITS.leaseBeatMs);
    }
    expect(await living.supervisor.record(run.runId)).toMatchObject({
      state: 'running',
      verbs: ['attach'],
    });
    dying.kill();
    others.count = 0;
    await living.clock.advance(LONG_ENOUGH_MS);
    await living.clock.settle();
    expect(await living.supervisor.record(run.runId)).toMatchObject({
      state: 'failed',
      end: { error: { code: 'owner_lost' } },
    });
    await host.expectSound();
  });

  it('says so in its log when another comes, once', async () => {
    const { store, others } = sharedStore();
    const living = await new Host(store).boot();
    expect(living.messages('Another live process')).toEqual([]);
    others.count = 1;
    await living.clock.advance(3 * LOOK_EVERY_MS);
    expect(living.messages('Another live process')).toMatchObject([{ others: 1 }]);
  });

  it('looks for nobody any more once it is shut down', async () => {
    const { store } = sharedStore();
    const living = await new Host(store).boot();
    living.supervisor.shutdown('SIGTERM');
    await living.clock.settle();
    expect(living.clock.pending).toEqual([]);
  });
});

describe('a process alone with its store', () => {
  it('looks for nobody when its store cannot tell', async () => {
    const alone = await new Host().boot();
    expect(alone.clock.pending).toEqual([]);
  });
});
