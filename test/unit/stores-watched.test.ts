import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { type Lease, type Store, StoreError } from '../../src/stores/store.ts';
import { reasonOf, WatchedStore } from '../../src/stores/watched-store.ts';

const FULL = new StoreError('The database /secret/place: the disk is full.', {
  reason: 'the disk is full.',
});

const GRANT = {
  sessionId: 's',
  agent: 'a',
  toolName: 't',
  matchedPattern: '*',
  decisionId: 'd',
  at: 1,
};

/** A store of which single methods refuse, at once or later, and what was heard of it. */
async function watched({ later = false } = {}) {
  const inner = createMemoryStore();
  const refusing = new Set<keyof Store>();
  const store: Store = new Proxy(inner, {
    get: (target, key: keyof Store) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const call = (): unknown => {
          if (refusing.has(key)) throw FULL;
          return Reflect.apply(value, target, args);
        };
        return later ? Promise.resolve().then(call) : call();
      };
    },
  });
  const heard: string[] = [];
  const made = new WatchedStore(store, {
    onRefused: (error) => heard.push(`refused ${(error as Error).name}`),
    onTaken: () => heard.push('taken'),
    onExpiring: () => heard.push('expiring'),
  });
  const outcome = await made.acquire({ key: 's', owner: 'me', now: 1, ttlMs: 10 });
  if (!outcome.acquired) throw new Error('invariant: nobody else is there');
  return { store: made, inner, refusing, heard, lease: outcome.lease };
}

let seq = 0;
const append = async (store: Store, lease: Lease, firstSeq: number): Promise<string> => {
  seq += 1;
  const [outcome] = await store.append([{ lease, firstSeq, count: 1, body: `${seq}` }]);
  return outcome?.status ?? 'none';
};

describe.each([{ later: false }, { later: true }])('a watched store, later: $later', (engine) => {
  it('remembers a refusal until an append is taken, and tells of both once', async () => {
    const { store, refusing, heard, lease } = await watched(engine);
    expect(store.refusal).toBeUndefined();
    refusing.add('append');
    for (const _ of [0, 1]) {
      await expect((async () => await append(store, lease, 1))()).rejects.toBe(FULL);
    }
    expect(store.refusal).toBe('the disk is full.');
    await store.renew([lease], 20);
    expect(store.refusal, 'after a small write that still fitted').toBe('the disk is full.');
    refusing.clear();
    expect(await append(store, lease, 1)).toBe('written');
    expect(store.refusal).toBeUndefined();
    expect(heard).toEqual(['refused StoreError', 'taken']);
  });

  it.each([
    'acquire',
    'renew',
    'release',
    'putRecord',
    'trim',
    'forgetRuns',
    'decideApproval',
    'expireApproval',
    'putGrant',
    'discard',
  ] as const)('notices a refused %s', async (name) => {
    const { store, refusing, heard, lease } = await watched(engine);
    const writes = {
      acquire: () => store.acquire({ key: 't', owner: 'me', now: 1, ttlMs: 10 }),
      renew: () => store.renew([lease], 20),
      release: () => store.release([lease]),
      putRecord: () => store.putRecord({ runId: 'r', sessionId: 's', record: '{}' }, lease),
      trim: () => store.trim('s', 0),
      forgetRuns: () => store.forgetRuns('r', 1),
      decideApproval: () => store.decideApproval('d', '{}', 1),
      expireApproval: () => store.expireApproval('d', '{}', 1),
      putGrant: () => store.putGrant(GRANT),
      discard: () => store.discard('r'),
    };
    refusing.add(name);
    await expect((async () => await writes[name]())()).rejects.toBe(FULL);
    expect(store.refusal).toBe('the disk is full.');
    refusing.clear();
    await writes[name]();
    expect(store.refusal).toBeUndefined();
    expect(heard).toEqual(['refused StoreError', 'taken']);
  });

  it('takes no offence at reads, nor at writes after its close', async () => {
    const { store, refusing, heard, lease } = await watched(engine);
    refusing.add('read').add('head').add('getRecord').add('listRecords').add('ping');
    await expect((async () => await store.head('s'))()).rejects.toBe(FULL);
    await expect((async () => await store.ping())()).rejects.toBe(FULL);
    await store.close();
    await expect((async () => await append(store, lease, 1))()).rejects.toThrow('closed');
    expect(store.refusal).toBeUndefined();
    expect(heard).toEqual([]);
  });
});

describe.each([{ later: false }, { later: true }])(
  'what a watched store tells of expiries, later: $later',
  (engine) => {
    const approval = { decisionId: 'd', record: '{}', expiresAt: 9 };
    const park = (lease: Lease, runId: string, approvals = [approval]) => {
      const parked = { checkpoint: 'c', automatic: true, approvals };
      return { lease, count: 0, body: '', terminal: { runId, line: '1', parked } };
    };

    it('tells of runs that park with approvals, are discarded or gone on with', async () => {
      const { store, heard, lease } = await watched(engine);
      await store.append([{ ...park(lease, 'r'), firstSeq: 1 }]);
      expect(heard).toEqual(['expiring']);
      await store.discard('r');
      expect(heard).toEqual(['expiring', 'expiring']);
      await store.append([{ ...park(lease, 'q'), firstSeq: 2 }]);
      const continues = { runId: 'q', by: 'n' };
      await store.append([{ lease, firstSeq: 3, count: 0, body: '', continues }]);
      expect(heard).toHaveLength(4);
    });

    it('tells of a decision, and of none that came too late', async () => {
      const { store, heard, lease } = await watched(engine);
      await store.append([{ ...park(lease, 'r'), firstSeq: 1 }]);
      await store.decideApproval('d', '"yes"', 8);
      await store.decideApproval('d', '"no"', 8);
      await store.decideApproval('nobody', '"no"', 8);
      expect(heard).toEqual(['expiring', 'expiring']);
    });

    it('tells of no other write', async () => {
      const { store, heard, lease } = await watched(engine);
      await append(store, lease, 1);
      await store.append([{ ...park(lease, 'r', []), firstSeq: 2 }]);
      await store.discard('nobody');
      await store.putGrant(GRANT);
      expect(heard).toEqual([]);
    });
  },
);

describe('the reason of a refusal', () => {
  it('is told without the place, and never in the words of an engine', () => {
    expect(reasonOf(FULL)).toBe('the disk is full.');
    expect(reasonOf(new StoreError('The database /secret/place is odd.'))).not.toContain('secret');
    expect(reasonOf(new Error('/secret/place'))).toBe('the store does not answer');
  });
});

it('a watched store answers at once where its engine does', async () => {
  const { store, lease } = await watched();
  expect(store.append([{ lease, firstSeq: 1, count: 1, body: '1' }])).toEqual([
    { status: 'written' },
  ]);
});

it('a watched store answers what its engine answers', async () => {
  const { store, inner, lease } = await watched();
  const records = [{ runId: 'r', record: '{}', startKey: { key: 'k', digest: 'd' } }];
  const approvals = ['d', 'e'].map((id) => ({ decisionId: id, record: '{}', expiresAt: 9 }));
  const endedApprovals = [
    { decisionId: 'c', record: '{}', expiresAt: 9, runId: 'r', outcome: '"no"' },
  ];
  const parked = { checkpoint: 'c', automatic: true, approvals };
  const terminal = { runId: 'r', line: '2', transcript: 't', log: 'l', parked };
  const part = { lease, firstSeq: 1, count: 1, body: '1', records, endedApprovals, terminal };
  await store.append([part]);
  await store.putGrant(GRANT);

  const questions: readonly ((of: Store) => unknown)[] = [
    (of) => of.bytes('s'),
    (of) => of.totalBytes(),
    (of) => of.totalBytes(''),
    (of) => of.getRecord('r'),
    (of) => of.listRecords({ resumable: true, limit: 9 }),
    (of) => of.getStart('k'),
    (of) => of.getCheckpoint('r'),
    (of) => of.getLog('r'),
    (of) => of.listSessions({ limit: 9 }),
    (of) => of.getSession('s'),
    (of) => of.getTranscript('s'),
    (of) => of.getApproval('d'),
    (of) => of.listApprovals({ pendingAt: 8, limit: 9 }),
    (of) => of.listExpiring(9),
    (of) => of.getEnded('c'),
    (of) => of.listEnded({ limit: 9 }),
    (of) => of.listGrants('s'),
    (of) => of.totalBytes('other\u001f'),
  ];
  for (const ask of questions) expect(ask(store)).toEqual(ask(inner));
  expect(store.totalBytes('other\u001f')).toBe(0);
  expect(store.getCheckpoint('r')).toBe('c');
  expect(store.getEnded('c')).toMatchObject({ outcome: '"no"' });
  expect(store.listGrants('s')).toEqual([GRANT]);
  expect(await store.expireApproval('d', '"out"', 8)).toBe(false);
  expect(await store.decideApproval('d', '"yes"', 8)).toMatchObject({ won: true });
  expect(await store.discard('r', '"gone"')).toBe(true);
  expect(await inner.getEnded('e')).toMatchObject({ outcome: '"gone"' });
  expect(await inner.getCheckpoint('r')).toBeUndefined();
});
