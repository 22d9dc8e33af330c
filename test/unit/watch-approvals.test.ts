import { describe, expect, it } from 'vitest';
import type { ApprovalFilter, ApprovalItem } from '../../src/approval-item.ts';
import type { CommandContext } from '../../src/commands/context.ts';
import { watchApprovals } from '../../src/commands/watch-approvals.ts';
import { ApprovalDesk } from '../../src/hitl/approval-desk.ts';
import { tenantRealm } from '../../src/session-key.ts';
import type { RunScope } from '../../src/ports/run-scope.ts';
import type { StoredApproval } from '../../src/stores/store.ts';

/** Hazard: each of many watchers makes the server look up and keep the same things of its own. */

const PARKED = {
  agent: 'demo',
  sessionId: 's',
  toolName: 'echo',
  toolCallId: 'call',
  arguments: {},
  argumentsDigest: 'sha256:00',
  origin: { kind: 'config_gate', matchedPattern: 'e*' },
  requestedAt: 0,
};

function world() {
  const desk = new ApprovalDesk(() => {});
  const scopes = new Map<string, RunScope>();
  const stored = new Map<string, StoredApproval>();
  const counts = { lists: 0, gets: 0 };
  const gates: (() => void)[] = [];
  let isHeld = false;
  let fault: Error | undefined;
  const index = {
    listApprovals: async ({ realm }: { readonly realm: string }) => {
      counts.lists += 1;
      if (fault !== undefined) throw fault;
      if (isHeld) await new Promise<void>((resolve) => gates.push(resolve));
      return realm === tenantRealm('') ? [...stored.values()] : [];
    },
    getApproval: async (id: string) => {
      counts.gets += 1;
      return stored.get(id);
    },
  };
  // No more of a context is used than this.
  const context = (tenant: string) =>
    ({
      system: { desk, scopes },
      tenant: { tenant },
      agents: new Map(),
      clock: { now: () => 1 },
      journal: { index },
    }) as unknown as CommandContext;
  const watch = async (filter: ApprovalFilter = {}, tenant = '') => {
    const items: ApprovalItem[] = [];
    const changed = (item: ApprovalItem) => void items.push(item);
    const stop = await watchApprovals(context(tenant), filter, { changed });
    return { items, stop, states: () => items.map((it) => `${it.decision_id} ${it.state}`) };
  };
  const park = (decisionId: string, outcome?: object) => {
    const record = JSON.stringify(PARKED);
    const kept = { decisionId, runId: 'run', expiresAt: 9, record };
    const said = outcome && { outcome: JSON.stringify(outcome) };
    stored.set(decisionId, { ...kept, ...said } as unknown as StoredApproval);
  };
  return {
    watch,
    park,
    /** As the desk hears of an approval of a live run. */
    ask: (decisionId: string) => {
      const scope = liveScope(decisionId);
      scopes.set(scope.runId, scope);
      desk.changed({ decisionId, tenant: '', scope });
      return scope;
    },
    changed: (decisionId: string) => desk.changed({ decisionId, tenant: '' }),
    counts,
    hold: () => void (isHeld = true),
    /** Reads of the store go on until none waits. */
    let: async () => {
      isHeld = false;
      for (const go of gates.splice(0)) go();
      await settle();
    },
    fail: (error?: Error) => void (fault = error),
  };
}

function liveScope(decisionId: string): RunScope {
  const request = { ...PARKED, decisionId, route: 'conversational', timeoutMs: 9 };
  const record = { request, requestedAt: 0, outcome: undefined };
  const calls = new Map([['call', { call: { argumentsText: '{"said":"x"}' } }]]);
  const approvals = new Map([[decisionId, record]]);
  const of = { runId: `run-${decisionId}`, sessionId: 's', command: { agent: 'demo' }, agent: {} };
  return { ...of, calls, approvals } as unknown as RunScope;
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
};

describe('watching approvals', () => {
  it('tells all watchers the same item of a change', async () => {
    const { watch, ask } = world();
    const watchers = [await watch(), await watch({ state: 'pending' }), await watch()];
    ask('a');
    await settle();
    const [one, ...others] = watchers.map(({ items }) => items[0]);
    expect(one).toMatchObject({ decision_id: 'a', arguments: { said: 'x' } });
    for (const other of others) expect(other).toBe(one);
  });

  it('asks the store once for a change of a parked one, however many watch', async () => {
    const { watch, park, changed, counts } = world();
    const watchers = [await watch(), await watch(), await watch()];
    park('a');
    changed('a');
    await settle();
    park('a', { kind: 'denied' });
    changed('a');
    await settle();
    for (const { states } of watchers) expect(states()).toEqual(['a pending', 'a denied']);
    expect(counts.gets).toBe(2);
  });

  it('reads what stands once for all who wait for the same, and for each other who waits', async () => {
    const { watch, park, hold, let: go, counts } = world();
    park('a');
    hold();
    const first = watch();
    await settle();
    const waiting = [watch(), watch(), watch({ agent: 'other' }), watch({}, 'acme')];
    await settle();
    expect(counts.lists).toBe(1);
    await go();
    const told = await Promise.all([first, ...waiting]);
    expect(counts.lists).toBe(4);
    expect(told.map(({ states }) => states())).toEqual([
      ['a pending'],
      ['a pending'],
      ['a pending'],
      [],
      [],
    ]);
    expect(told[2]?.items[0]).toBe(told[1]?.items[0]);
  });

  it('tells what changes while others are read for behind what stood', async () => {
    const { watch, park, ask, hold, let: go } = world();
    park('a');
    hold();
    const both = [watch(), watch({ agent: 'demo' })];
    await settle();
    ask('b');
    await go();
    const told = await Promise.all(both);
    await settle();
    // The second one is read for when the change is there to be read, too.
    expect(told.map(({ states }) => states())).toEqual([
      ['a pending', 'b pending'],
      ['a pending', 'b pending', 'b pending'],
    ]);
  });

  it('is refused to all who shared a read that failed, and to nobody after that', async () => {
    const { watch, park, ask, fail, counts } = world();
    park('a');
    fail(new Error('down'));
    const refused = await Promise.allSettled([watch(), watch()]);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(counts.lists).toBe(1);
    fail();
    const { states, stop } = await watch();
    ask('b');
    await settle();
    expect(states()).toEqual(['a pending', 'b pending']);
    stop();
    ask('c');
    await settle();
    expect(states()).toEqual(['a pending', 'b pending']);
  });
});
