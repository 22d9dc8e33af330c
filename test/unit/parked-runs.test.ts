import { describe, expect, it } from 'vitest';
import { createJournal } from '../../src/journal/journal.ts';
import { comesBack, parkedRuns, type ParkedRunsDeps } from '../../src/parked-runs.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

const NOW = 1_000_000;

interface Approval {
  readonly expiresAt?: number;
  readonly isDecided?: boolean;
}

interface Parked {
  readonly approvals?: readonly Approval[];
  readonly automatic?: boolean;
  readonly reason?: string;
}

/** A store with one parked run, and the policy of a process that starts on it. */
async function world({ approvals = [], automatic = true, reason = 'shutdown' }: Parked) {
  const clock = createVirtualClock(NOW);
  const store = createMemoryStore();
  const outcome = store.acquire({ key: 's', owner: 'before', now: 0, ttlMs: 1 });
  if (outcome instanceof Promise || !outcome.acquired) throw new Error('invariant: it is free');
  const lines = approvals.map(({ expiresAt = NOW + 1 }, at) => ({
    decisionId: `d${at}`,
    record: '{}',
    expiresAt,
  }));
  const parked = { checkpoint: '{}', automatic, approvals: lines };
  const record = JSON.stringify({ end: { reason } });
  const terminal = { runId: 'r', line: '1', record, parked };
  await store.append([{ lease: outcome.lease, firstSeq: 1, count: 0, body: '', terminal }]);
  for (const [at, { isDecided }] of approvals.entries()) {
    if (isDecided) await store.decideApproval(`d${at}`, '{"kind":"denied"}', 0);
  }
  return async (policy: Partial<Omit<ParkedRunsDeps, 'journal' | 'clock'>> = {}) => {
    const journal = createJournal({ store, clock, ownerId: 'me' });
    const deps = {
      journal,
      clock,
      recover: 'fail',
      park: { resumeOnStart: false },
      ...policy,
    } as const;
    const ids: string[] = [];
    for await (const { runId } of parkedRuns(deps)) ids.push(runId);
    expect(ids.length > 0).toBe(automatic && (await comesBack({ runId: 'r', record }, deps)));
    return ids.length > 0;
  };
}

const ON_START = { park: { resumeOnStart: true } };

describe('a start', () => {
  it('brings back what waits for nobody when it is to', async () => {
    const isBroughtBack = await world({});
    expect([await isBroughtBack(), await isBroughtBack(ON_START)]).toEqual([false, true]);
  });

  it('brings back nothing that was parked by hand', async () => {
    expect(await (await world({ automatic: false }))(ON_START)).toBe(false);
  });

  it('brings back no run that waits for a person', async () => {
    const waits = await world({ approvals: [{ isDecided: true }, {}], reason: 'owner_lost' });
    expect(await waits({ ...ON_START, recover: 'resume' })).toBe(false);
  });

  it('brings back a run that was lost at its work when it may', async () => {
    const lost = await world({ reason: 'owner_lost' });
    expect([await lost(), await lost({ recover: 'resume' })]).toEqual([false, true]);
  });

  it.each<[string, readonly Approval[]]>([
    ['decided', [{ isDecided: true }, { isDecided: true }]],
    ['expired', [{ expiresAt: NOW }, { expiresAt: NOW - 1 }]],
    ['decided or expired', [{ isDecided: true }, { expiresAt: NOW }]],
  ])(
    'brings a run back whose approvals have all been %s, whatever the policy',
    async (_how, approvals) => {
      expect(await (await world({ approvals }))()).toBe(true);
    },
  );
});
