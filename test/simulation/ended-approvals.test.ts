import { describe, expect, it } from 'vitest';
import type { ApprovalItem, DecisionAnswer, DecisionCommand } from '../../src/approval-item.ts';
import type { StartRun, SupervisorHandle } from '../../src/handle.ts';
import type { WebhookAnswer, WebhookChannel } from '../../src/hitl/channel.ts';
import { createCountingIds } from '../../src/testing/ids.ts';
import { ManualWebhook } from '../support/manual-webhook.ts';
import { Host, type HostProcess } from '../support/recovery-host.ts';
import type { RunWorldOptions } from '../support/run-world.ts';
import { RecordedStore } from '../support/store-prefix.ts';
import { trickyStore } from '../unit/journal-kit.ts';

/**
 * Hazard: a decision is remembered by nobody but the process that took it. Who repeats it is told that it
 * is unknown, and who asks later cannot see who decided.
 */

const TENANT = 'acme';
const EXPIRY_MS = 60_000;
const OPTIONS: RunWorldOptions = {
  tools: ['danger'],
  requireApproval: ['danger'],
  approvalTimeoutMs: EXPIRY_MS,
  graceMs: 0,
};
const ALL = { limit: 100 };
/** By a receiver that knows what it should not repeat. */
const SAID = 'because of s3cret-of-caller';

const view = (process: HostProcess, tenant = TENANT): SupervisorHandle =>
  process.supervisor.forTenant({ tenant, liveRunsMax: 0, storedBytesMax: 0 });

async function settled<T>(process: HostProcess, answer: Promise<T>): Promise<T> {
  const [value] = await Promise.all([answer, process.clock.settle()]);
  await process.clock.settle();
  return value;
}

/** A run of the tenant that asks for as many calls. */
async function asking(process: HostProcess, calls = 1, change: Partial<StartRun> = {}) {
  const { runId } = await settled(
    process,
    view(process).start({
      agent: 'agent',
      sessionId: 'one',
      messages: [{ role: 'user', content: 'Hello' }],
      prompt: 'Hello',
      streaming: true,
      liveness: { policy: 'continue', graceMs: 0 },
      onBusy: 'parallel',
      requestHeaders: {},
      ...change,
    }),
  );
  for (let at = 0; at < calls; at += 1) process.model.turn.call('danger', { at }, `call-${at}`);
  process.model.turn.finish('tool_calls');
  await process.clock.settle();
  await process.clock.settle();
  const { data } = await view(process).listApprovals({ ...ALL, state: 'pending', runId });
  return { runId, ids: data.map(({ decision_id: id }) => id).toReversed() };
}

const decide = (
  process: HostProcess,
  id: string,
  decision: DecisionCommand,
  tenant = TENANT,
): Promise<DecisionAnswer> => settled(process, view(process, tenant).decide(id, decision));

/** Its calls end, and its model says the last word. */
async function finish(process: HostProcess): Promise<void> {
  for (const execution of process.tools.executions) execution.answer('done');
  await process.clock.settle();
  process.model.turn.say('Done.').finish();
  await process.clock.settle();
}

const listed = async (process: HostProcess, query: object = {}): Promise<readonly ApprovalItem[]> =>
  (await view(process).listApprovals({ ...ALL, ...query })).data;

/** A run with one decided approval, to its end. */
async function decidedRun(host: Host, decision: DecisionCommand) {
  const process = await host.boot(OPTIONS);
  const { runId, ids } = await asking(process);
  const [id = ''] = ids;
  expect(await decide(process, id, decision)).toBe('recorded');
  await finish(process);
  return { process, runId, id };
}

describe('a decision that is repeated after a restart', () => {
  it.each([
    { approved: true, by: 'ann' },
    { approved: false, by: 'ann', reason: 'too risky' },
  ])(
    'is repeated when it is the same, and unknown when it is another: $approved',
    async (given) => {
      const host = new Host();
      const { process, id } = await decidedRun(host, given);
      process.kill();
      const next = await host.boot(OPTIONS);
      const { approved } = given;

      expect(await decide(next, id, { approved, reason: 'other words' })).toBe('repeated');
      expect(await decide(next, id, { approved: !approved })).toBe('unknown');
      expect(await decide(next, id, { approved, grant: 'session' })).toBe(
        approved ? 'unknown' : 'repeated',
      );
    },
  );

  it('is unknown to another tenant, and known to whoever signs', async () => {
    const host = new Host();
    const { process, id } = await decidedRun(host, { approved: true });
    process.kill();
    const next = await host.boot(OPTIONS);

    for (const tenant of ['', 'other']) {
      expect(await decide(next, id, { approved: true }, tenant)).toBe('unknown');
    }
    expect(await decide(next, id, { approved: true, signed: true }, 'other')).toBe('repeated');
    expect(await decide(next, 'no-such-id', { approved: true })).toBe('unknown');
  });

  it('is for the signature alone when a webhook was asked', async () => {
    const host = new Host();
    const webhook = new ManualWebhook();
    const options = { ...OPTIONS, agent: { approvalChannel: webhook } };
    const process = await host.boot(options);
    const { ids } = await asking(process);
    const [id = ''] = ids;
    webhook.questions[0]?.approve();
    await process.clock.settle();
    await finish(process);
    process.kill();
    const next = await host.boot(options);

    expect(await decide(next, id, { approved: true })).toBe('unknown');
    expect(await decide(next, id, { approved: true, signed: true })).toBe('repeated');
    expect(await listed(next)).toMatchObject([
      { decision_id: id, route: 'webhook', decided_by: 'webhook', may: { decide: 'signed' } },
    ]);
  });

  it('was taken of a parked run: it is known by the run that went on', async () => {
    const host = new Host();
    const process = await host.boot(OPTIONS);
    const park: Partial<StartRun> = {
      liveness: { policy: 'park', graceMs: 0 },
      claim: { observerId: 'reader' },
    };
    const { runId, ids } = await asking(process, 1, park);
    const [id = ''] = ids;
    view(process).release(runId, 'reader');
    await process.clock.settle();
    expect(await decide(process, id, { approved: true, by: 'ann' })).toBe('recorded');
    await finish(process);
    process.kill();
    const next = await host.boot(OPTIONS);

    expect(await decide(next, id, { approved: true })).toBe('repeated');
    expect(await decide(next, id, { approved: false })).toBe('unknown');
    const items = await listed(next);
    expect(items).toMatchObject([{ decision_id: id, decided_by: 'ann', parked: false }]);
    expect(items[0]?.run_id).not.toBe(runId);
  });

  it('is not one of an approval that nobody decided', async () => {
    const host = new Host();
    const process = await host.boot(OPTIONS);
    const { ids } = await asking(process);
    await process.clock.advance(EXPIRY_MS);
    await finish(process);
    process.kill();
    const next = await host.boot(OPTIONS);

    for (const approved of [true, false]) {
      expect(await decide(next, ids[0] ?? '', { approved })).toBe('unknown');
    }
  });
});

describe('the inbox', () => {
  it('shows an approval after its run as it was shown in it, also after a restart', async () => {
    const host = new Host();
    const process = await host.boot(OPTIONS);
    const { runId, ids } = await asking(process, 2);
    await decide(process, ids[0] ?? '', { approved: false, by: 'ann', reason: 'too risky' });
    await decide(process, ids[1] ?? '', { approved: true, by: 'bob' });
    const during = await listed(process);
    expect(during).toHaveLength(2);
    await finish(process);

    expect(await listed(process)).toEqual(during);
    expect(await listed(process, { runId, state: 'denied' })).toMatchObject([
      { decision_id: ids[0], decided_by: 'ann', reason: 'too risky', arguments: { at: 0 } },
    ]);
    expect(await view(process, 'other').listApprovals(ALL)).toEqual({ data: [], next: null });
    process.kill();
    const next = await host.boot(OPTIONS);
    expect(await listed(next)).toEqual(during);
    expect(await listed(next, { state: 'pending' })).toEqual([]);
  });

  it('gives pages of live, parked and ended ones, each once and the newest first', async () => {
    const host = new Host();
    const process = await host.boot(OPTIONS);
    const park: Partial<StartRun> = {
      liveness: { policy: 'park', graceMs: 0 },
      claim: { observerId: 'reader' },
    };
    for (let round = 0; round < 2; round += 1) {
      const parked = await asking(process, 2, { ...park, sessionId: `parked-${round}` });
      view(process).release(parked.runId, 'reader');
      await process.clock.settle();
      const ended = await asking(process, 2, { sessionId: `ended-${round}` });
      for (const id of ended.ids) await decide(process, id, { approved: false, by: 'ann' });
      await finish(process);
      await asking(process, 2, { sessionId: `live-${round}` });
    }
    const all = await listed(process);
    const ids = all.map(({ decision_id: id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted().toReversed());
    expect(all.map(({ state }) => state).toSorted()).toEqual([
      ...Array<string>(4).fill('denied'),
      ...Array<string>(8).fill('pending'),
    ]);
    for (const [limit, query] of [1, 2, 3, 5, 12].flatMap((n) =>
      [{}, { state: 'denied' }, { state: 'pending' }].map((asked) => [n, asked] as const),
    )) {
      const wanted = await listed(process, query);
      expect(await paged(process, limit, query), `${limit} at a time`).toEqual(wanted);
    }
    await process.clock.advance(EXPIRY_MS);
  });

  it('shows what nobody decided of a parked run that is given up', async () => {
    const host = new Host();
    const process = await host.boot(OPTIONS);
    const { runId, ids } = await asking(process, 1, {
      liveness: { policy: 'park', graceMs: 0 },
      claim: { observerId: 'reader' },
    });
    view(process).release(runId, 'reader');
    await process.clock.settle();
    await settled(process, view(process).cancel(runId, {}));

    expect(await listed(process)).toMatchObject([
      { decision_id: ids[0], run_id: runId, state: 'cancelled', decided_by: null, parked: false },
    ]);
  });

  it('forgets an approval with its run', async () => {
    const host = new Host();
    const { process, runId, id } = await decidedRun(host, { approved: true });
    process.kill();
    const next = await host.boot(OPTIONS);
    await host.store.forgetRuns(`${runId}~`, 10);

    expect(await listed(next)).toEqual([]);
    expect(await decide(next, id, { approved: true })).toBe('unknown');
  });

  it.each<[string, WebhookAnswer]>([
    ['denied', { kind: 'decided', decision: { approved: false, reason: SAID }, toolHeaders: {} }],
    ['errored', { kind: 'failed', message: SAID, retryable: false }],
  ])('keeps one that was %s without the secrets of its run', async (kind, answer) => {
    const host = new Host();
    const approvalChannel: WebhookChannel = {
      ask: async () => answer,
      withdraw: async () => true,
    };
    const process = await host.boot({ ...OPTIONS, agent: { approvalChannel } });
    await asking(process, 1, { requestHeaders: { authorization: 'Bearer s3cret-of-caller' } });
    await finish(process);

    const [ended] = await host.store.listEnded(ALL);
    expect(JSON.parse(ended?.outcome ?? '{}')).toMatchObject({ kind });
    expect(ended?.outcome).toContain('because of ');
    expect(ended?.outcome).not.toContain('s3cret');
  });

  it('keeps of one that was cancelled what its entry tells, and no more', async () => {
    const host = new Host();
    const process = await host.boot(OPTIONS);
    const { runId } = await asking(process);
    await settled(process, view(process).cancel(runId, { message: SAID }));

    const [ended] = await host.store.listEnded(ALL);
    expect(JSON.parse(ended?.outcome ?? '{}')).toEqual({ kind: 'cancelled', reason: 'external' });
  });
});

/** Everything, so many at a time. */
async function paged(process: HostProcess, limit: number, query: object) {
  const items: ApprovalItem[] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<SupervisorHandle['listApprovals']>> = await view(
      process,
    ).listApprovals({ limit, ...query, ...(after !== null && { after }) });
    expect(page.data.length).toBeLessThanOrEqual(limit);
    items.push(...page.data);
    after = page.next;
  } while (after !== null);
  return items;
}

describe('a process that dies', () => {
  /** Decision ids of approvals that the journal says have ended, and of those that are kept. */
  async function ended(host: Host) {
    const entries = await host.entries('acme\u001fone');
    const told = entries.flatMap(({ payload: { event } }) =>
      event.type === 'approval_completed' ? [event.decision_id] : [],
    );
    const kept = await host.store.listEnded(ALL);
    return { told: told.toSorted(), kept: kept.map((one) => one.decisionId).toSorted(), entries };
  }

  it('leaves each approval kept whose end is told, and no other, wherever it died', async () => {
    const recorded = new RecordedStore();
    const ids = createCountingIds();
    const process = await new Host(recorded.store, ids).boot(OPTIONS);
    // Nobody would go on with it, so the approvals that nobody answered end with its process.
    const run = await asking(process, 3, {
      liveness: { policy: 'cancel', graceMs: 0 },
      claim: { observerId: 'reader' },
    });
    await decide(process, run.ids[0] ?? '', { approved: true, by: 'ann' });
    await decide(process, run.ids[1] ?? '', { approved: false, by: 'bob' });
    await process.clock.advance(EXPIRY_MS);
    await finish(process);
    let found = 0;
    for (let count = 0; count <= recorded.length; count += 1) {
      const host = new Host(recorded.after(count), ids);
      const before = await ended(host);
      expect(before.kept, `after ${count} changes`).toEqual(before.told);
      // The next process settles what it finds, and tells of the approvals that nobody answered.
      const next = await host.boot({ ...OPTIONS, recover: 'fail' }, { afterMs: 30_000 });
      await next.clock.settle();
      const after = await ended(host);
      expect(after.kept, `after ${count} changes and a start`).toEqual(after.told);
      found = Math.max(found, after.told.length - before.told.length);
      await next.playOn();
    }
    expect(found).toBeGreaterThan(0);
  });

  it('leaves what it asked to be shown as cancelled, with its arguments', async () => {
    const host = new Host();
    const process = await host.boot(OPTIONS);
    const { runId, ids } = await asking(process, 1, {
      liveness: { policy: 'cancel', graceMs: 0 },
      claim: { observerId: 'reader' },
    });
    const [asked] = await listed(process);
    process.kill();
    const next = await host.boot(OPTIONS, { afterMs: 30_000 });
    await next.clock.settle();

    expect(await listed(next)).toEqual([{ ...asked, state: 'cancelled' }]);
    expect(asked).toMatchObject({ decision_id: ids[0], run_id: runId, arguments: { at: 0 } });
  });

  it('is not needed: what the store refused is kept when it is told again', async () => {
    const store = trickyStore();
    const host = new Host(store);
    const process = await host.boot(OPTIONS);
    const { ids } = await asking(process);
    store.fates = ['refused'];
    const taken = view(process).decide(ids[0] ?? '', { approved: true });
    taken.catch(() => {});
    await process.clock.advance(2_000);
    await expect(taken).rejects.toMatchObject({ code: 'store_unavailable' });

    const { told, kept } = await ended(host);
    expect(told).toEqual(ids);
    expect(kept).toEqual(ids);
  });
});
