import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/stores/store.ts';
import { newPath, open, removeDirectory } from './stores-sqlite-kit.ts';

/**
 * Hazard: a page that looks at every row that is not on it. A few sessions of one realm may have many
 * of another one before them, so what finds a page is the plan of its query.
 */

afterAll(removeDirectory);
afterEach(() => void vi.restoreAllMocks());

/** How the engine goes about the queries that `ask` makes, each in one line. */
async function plansOf(ask: (store: Store) => unknown): Promise<string[]> {
  const path = newPath();
  const store = open(path);
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  await ask(store);
  const asked = prepare.mock.calls.map(([sql]) => sql);
  vi.restoreAllMocks();
  await store.close();
  const db = new DatabaseSync(path, { readOnly: true });
  const plans = asked.map((sql) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
      .join('; '),
  );
  db.close();
  return plans;
}

const BEFORE = { before: 'x', limit: 9 };

it('finds what expires first by its expiry, and its run by its id', async () => {
  const [plan] = await plansOf((store) => store.listExpiring(9));
  expect(plan).toMatch(/^SCAN approvals USING INDEX approvals_expiring;/);
  expect(plan).toMatch(/SEARCH runs (EXISTS )?USING PRIMARY KEY \(run_id=\?\)/);
  expect(plan).not.toContain('TEMP B-TREE');
});

describe.each([[''], ['acme\u001f']])('a page of the realm %j', (realm) => {
  it.each<[string, string, (store: Store) => unknown]>([
    ['runs', 'runs_by_realm', (store) => store.listRecords({ realm, limit: 9 })],
    ['more runs', 'runs_by_realm', (store) => store.listRecords({ realm, ...BEFORE })],
    ['sessions', 'sessions_by_realm', (store) => store.listSessions({ realm, limit: 9 })],
    ['more sessions', 'sessions_by_realm', (store) => store.listSessions({ realm, ...BEFORE })],
    [
      'sessions upwards',
      'sessions_by_realm',
      (store) => store.listSessions({ realm, after: '', limit: 9 }),
    ],
    ['approvals', 'approvals_by_realm', (store) => store.listApprovals({ realm, limit: 9 })],
    ['more approvals', 'approvals_by_realm', (store) => store.listApprovals({ realm, ...BEFORE })],
    [
      'pending approvals',
      'approvals_pending',
      (store) => store.listApprovals({ realm, pendingAt: 1, limit: 9 }),
    ],
    [
      'more pending approvals',
      'approvals_pending',
      (store) => store.listApprovals({ realm, pendingAt: 1, ...BEFORE }),
    ],
    [
      'approvals that have ended',
      'ended_approvals_by_realm',
      (store) => store.listEnded({ realm, limit: 9 }),
    ],
    [
      'more of those that have ended',
      'ended_approvals_by_realm',
      (store) => store.listEnded({ realm, ...BEFORE }),
    ],
  ])('finds %s by %s and sorts nothing', async (_what, index, ask) => {
    const plans = await plansOf(ask);
    expect(plans).toHaveLength(1);
    expect(plans[0]).toContain(`USING INDEX ${index} (<expr>=?`);
    expect(plans[0]).not.toMatch(/SCAN|TEMP B-TREE/);
  });

  it.each<[string, string, (store: Store) => unknown]>([
    [
      'runs of a session',
      'INDEX runs_by_session (session_id=?',
      (store) => store.listRecords({ realm, sessionId: 's', ...BEFORE }),
    ],
    [
      'live runs',
      'INDEX runs_unsettled (run_id<?',
      (store) => store.listRecords({ realm, unsettled: true, ...BEFORE }),
    ],
    [
      'approvals of a run',
      'INDEX approvals_by_run (run_id=?',
      (store) => store.listApprovals({ realm, runId: 'r', pendingAt: 1, limit: 9 }),
    ],
    [
      'ended approvals of a run',
      'INDEX ended_approvals_by_run (run_id=? AND decision_id<?',
      (store) => store.listEnded({ realm, runId: 'r', ...BEFORE }),
    ],
  ])('finds %s by what they have beside it', async (_what, index, ask) => {
    const plans = await plansOf(ask);
    expect(plans).toHaveLength(1);
    expect(plans[0]).toContain(index);
    expect(plans[0]).not.toContain('TEMP B-TREE');
  });
});
