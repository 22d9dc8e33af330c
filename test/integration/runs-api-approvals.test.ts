import { describe, expect, it } from 'vitest';
import { approvalItem as item } from '../support/approval-item.ts';
import { errorOf, json, refusal, runsWorlds } from '../support/runs-world.ts';

/** `GET /v1/approvals`: the inbox of everything that waits for a person. */

const world = runsWorlds();

const ITEMS = [
  item(7, { state: 'errored', reason: 'status 500', route: 'webhook' }),
  item(6, { state: 'cancelled' }),
  item(5, { state: 'timed_out', session_id: 'cs_2' }),
  item(4, {
    origin: { kind: 'elicitation', server: 'm', message: 'Which one?', schema: { type: 'object' } },
  }),
  item(3, {
    tool_name: 'request_approval',
    origin: { kind: 'agent_requested', reason: 'It is risky.', agent_name: 'demo' },
  }),
  item(2, { parked: true, run_id: 'run_2', agent: 'other' }),
  item(1, { state: 'denied', reason: 'No.', decided_by: 'zoë' }),
];

const idsIn = (answer: Record<string, unknown>): number[] =>
  (answer['data'] as { decision_id: string }[]).map(({ decision_id }) =>
    Number.parseInt(decision_id.slice(-2), 16),
  );

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

  it.each([
    ['state=pending', [4, 3, 2]],
    ['state=denied', [1]],
    ['state=timed_out', [5]],
    ['state=cancelled', [6]],
    ['state=errored', [7]],
    ['state=approved', []],
    ['agent=other', [2]],
    ['session_id=cs_2', [5]],
    ['run_id=run_2', [2]],
    ['tool_name=request_approval', [3]],
    ['origin=config_gate', [7, 6, 5, 2, 1]],
    ['origin=agent_requested', [3]],
    ['origin=elicitation', [4]],
    ['state=pending&origin=config_gate&agent=demo', []],
    ['state=pending&origin=config_gate&run_id=run_2', [2]],
  ])('?%s is those that match all of it', async (query, ids) => {
    const made = await world();
    made.handle.approvals = ITEMS;
    expect(idsIn(json(await made.get(`/v1/approvals?${query}`)))).toEqual(ids);
  });

  it('is paged by limit and after, until next is null', async () => {
    const made = await world();
    made.handle.approvals = ITEMS;
    const first = json(await made.get('/v1/approvals?limit=5'));
    const rest = json(await made.get(`/v1/approvals?limit=5&after=${String(first['next'])}`));
    expect([first['data'], rest]).toEqual([
      ITEMS.slice(0, 5),
      { object: 'list', data: ITEMS.slice(5), next: null },
    ]);
  });

  it.each([
    ['state=done', '"pending", "approved", "denied", "timed_out", "cancelled", "errored"'],
    ['state=', '"pending"'],
    ['state=pending&state=denied', 'more than once'],
    ['origin=gate', '"config_gate", "agent_requested", "elicitation"'],
    ['agent=', 'empty'],
    ['session_id=', 'empty'],
    ['run_id=a%00b', 'control characters'],
    [`tool_name=${'x'.repeat(257)}`, 'longer than 256 bytes'],
    ['limit=201', '1 to 200'],
    ['after=', 'empty'],
  ])('?%s is 400 that names the parameter and says what is right', async (query, words) => {
    const made = await world();
    const answer = await made.get(`/v1/approvals?${query}`);
    const param = query.slice(0, query.indexOf('='));
    expect(refusal(answer)).toEqual([400, 'invalid_request_error', param]);
    expect(errorOf(answer)['message']).toContain(words);
  });

  it('stays empty when there is nothing to decide', async () => {
    const made = await world();
    expect(json(await made.get('/v1/approvals'))).toEqual({ object: 'list', data: [], next: null });
  });
});

describe('GET /v1/approvals/{decision_id}', () => {
  it.each(ITEMS.map((one) => [one.decision_id, one] as const))(
    '%s is that one',
    async (id, one) => {
      const made = await world();
      made.handle.approvals = ITEMS;
      const answer = await made.get(`/v1/approvals/${id.toUpperCase()}`);
      expect([answer.status, json(answer)]).toEqual([200, one]);
    },
  );

  it('finds the greatest id there can be', async () => {
    const made = await world();
    const last = item(9, { decision_id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' });
    made.handle.approvals = [last, ...ITEMS];
    expect(json(await made.get(`/v1/approvals/${last.decision_id}`))).toEqual(last);
  });

  it('is 404 for one that nobody knows, and 400 for what is no UUID', async () => {
    const made = await world();
    made.handle.approvals = ITEMS;
    const unknown = item(8).decision_id;
    const answer = await made.get(`/v1/approvals/${unknown}`);
    expect([answer.status, errorOf(answer)['message']]).toEqual([
      404,
      `No approval with the decision id ${unknown}.`,
    ]);
    expect(refusal(await made.get('/v1/approvals/17'))).toEqual([
      400,
      'invalid_request_error',
      'decision_id',
    ]);
  });
});
