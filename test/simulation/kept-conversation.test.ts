import { expect, it } from 'vitest';
import { JOURNAL_LIMITS } from '../../src/journal/limits.ts';
import type { StartRun } from '../../src/handle.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';

/**
 * Hazard: a run that never read its session's conversation, or was no part of it, and writes over it
 * at its end.
 */

const EXPIRED = { afterMs: JOURNAL_LIMITS.leaseTtlMs };

/** A start of the session "s" that goes on with its conversation. */
const prompted = (prompt: string, more: Partial<StartRun> = {}): Partial<StartRun> => ({
  sessionId: 's',
  messages: [{ role: 'user', content: prompt }],
  prompt,
  continuesSession: true,
  liveness: { policy: 'continue', graceMs: 0 },
  onBusy: 'enqueue',
  ...more,
});

/** What the session kept, as "role: text". */
async function kept(host: Host): Promise<readonly string[]> {
  const messages = JSON.parse((await host.store.getTranscript('s')) ?? '[]') as {
    role: string;
    content: string;
  }[];
  return messages.map(({ role, content }) => `${role}: ${content}`);
}

/** The session has had one run, which said "One.". */
async function begun(host: Host): Promise<HostProcess> {
  const first = await host.boot();
  await first.start(prompted('1'));
  first.model.turn.say('One.').finish();
  await first.clock.settle();
  return first;
}

const ONE = ['user: 1', 'assistant: One.'];

/** A store whose conversations cannot be read until `open` is called. */
function slowStore() {
  const store = createMemoryStore();
  const { promise, resolve: open } = Promise.withResolvers<void>();
  let slow = false;
  const slowed: Store = new Proxy(store, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (key === 'getTranscript' && slow) {
        return async (id: string) => {
          await promise;
          return target.getTranscript(id);
        };
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    store: slowed,
    slow: () => void (slow = true),
    open: () => {
      slow = false;
      open();
    },
  };
}

it('a lost run that waited, and one that was beside it, leave the session as it was', async () => {
  const host = new Host();
  const first = await begun(host);
  const aside = { onBusy: 'parallel', continuesSession: false } as const;
  await first.start(prompted('2'));
  const own = first.model.turn;
  await first.start(prompted('Title?', { ...aside, liveness: { policy: 'cancel', graceMs: 0 } }));
  first.model.turn.say('A title');
  await first.start(prompted('3'));
  own.say('Two.').finish();
  await first.clock.settle();
  expect(await kept(host)).toEqual([...ONE, 'user: 2', 'assistant: Two.']);
  first.kill();
  await host.boot({}, EXPIRED);
  await host.expectSound();
  expect(await kept(host)).toEqual([...ONE, 'user: 2', 'assistant: Two.']);
});

it('a lost run that was about to read the conversation keeps it', async () => {
  const { store, slow, open } = slowStore();
  const host = new Host(store);
  const first = await begun(host);
  slow();
  await first.start(prompted('2'));
  first.kill();
  open();
  await host.boot({}, EXPIRED);
  await host.expectSound();
  expect(await kept(host)).toEqual([...ONE, 'user: 2']);
});

it('a run that is cancelled before it has read the conversation keeps it', async () => {
  const { store, slow, open } = slowStore();
  const host = new Host(store);
  const first = await begun(host);
  slow();
  const run = await first.start(prompted('2'));
  await first.supervisor.cancel(run.runId, {});
  await first.clock.advance(10_000);
  expect(await run.record()).toMatchObject({ state: 'cancelled' });
  open();
  expect(await kept(host)).toEqual(ONE);
});
