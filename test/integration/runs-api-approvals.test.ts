import { describe, expect, it } from 'vitest';
import type { ApprovalItem } from '../../src/handle.ts';
import { json, refusal, runsWorlds } from '../support/runs-world.ts';

/** `GET /v1/approvals`: the inbox of everything that waits for a person. */

const world = runsWorlds();

const item = (n: number, state: ApprovalItem['state'] = 'pending'): ApprovalItem => ({
  decision_id: `01890000-0000-7000-8000-00000000000${n}`,
  run_id: 'run',
  session_id: 'cs_1',
  agent: 'demo',
  tool_name: 'delete_file',
  tool_call_id: 'call_1',
  arguments: { path: '/tmp/x' },
  arguments_digest: 'sha256:00',
  origin: { kind: 'config_gate', matched_pattern: 'delete_*' },
  requested_at: 1_700_000_000_000,
  expires_at: 1_700_000_060_000,
  state,
  parked: n === 2,
});

const ITEMS = [item(3), item(2), item(1, 'denied')];

describe('GET /v1/approvals', () => {
  it('is a page of approvals with what a person has to know', async () => {
    const made = await world();
    made.handle.approvals = ITEMS;
    const answer = await made.get('/v1/approvals');
    expect([answer.status, json(answer)]).toEqual([
      200,
      { object: 'list', data: ITEMS, next: null },
    ]);
  });

  it('?state=pending leaves out what is decided', async () => {
    const made = await world();
    made.handle.approvals = ITEMS;
    const { data } = json(await made.get('/v1/approvals?state=pending'));
    expect(data).toEqual(ITEMS.slice(0, 2));
  });

  it('is paged by limit and after, until next is null', async () => {
    const made = await world();
    made.handle.approvals = ITEMS;
    const first = json(await made.get('/v1/approvals?limit=2'));
    const rest = json(await made.get(`/v1/approvals?limit=2&after=${String(first['next'])}`));
    expect([first['data'], rest]).toEqual([
      ITEMS.slice(0, 2),
      { object: 'list', data: ITEMS.slice(2), next: null },
    ]);
  });

  it.each(['state=approved', 'state=', 'limit=201', 'after='])(
    '?%s is 400 and names the parameter',
    async (query) => {
      const made = await world();
      expect(refusal(await made.get(`/v1/approvals?${query}`))).toEqual([
        400,
        'invalid_request_error',
        query.slice(0, query.indexOf('=')),
      ]);
    },
  );

  it('stays empty when there is nothing to decide', async () => {
    const made = await world();
    expect(json(await made.get('/v1/approvals'))).toEqual({ object: 'list', data: [], next: null });
  });
});
