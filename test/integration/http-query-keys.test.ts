import { describe, expect, it } from 'vitest';
import { ask } from '../support/raw-client.ts';
import { errorOf, refusal, runsWorlds } from '../support/runs-world.ts';

/** Hazard: a misspelt filter that is passed over shows everything, and looks as if it were all. */

const world = runsWorlds();

describe('a query key that a list does not know', () => {
  it.each([
    ['/v1/runs?stat=parked', 'stat', 'did you mean state?'],
    ['/v1/runs?sessionId=x', 'sessionId', 'did you mean session_id?'],
    ['/v1/runs?state=parked&Limit=3', 'Limit', 'did you mean limit?'],
    ['/v1/runs?tool_name=x', 'tool_name', 'known are state, session_id, agent, limit, after.'],
    ['/v1/sessions?state=idle', 'state', 'known are limit, after.'],
    ['/v1/sessions?afer=x', 'afer', 'did you mean after?'],
    [
      '/v1/approvals?tool=x',
      'tool',
      'known are state, agent, session_id, run_id, tool_name, origin',
    ],
    ['/v1/approvals?toolname=x', 'toolname', 'did you mean tool_name?'],
    ['/v1/approvals?run-id=x', 'run-id', 'did you mean run_id?'],
    ['/v1/approvals?sessionid=x', 'sessionid', 'did you mean session_id?'],
    ['/v1/approvals?=x', '', 'known are'],
    ['/v1/approvals?__proto__=x', '__proto__', 'known are'],
    ['/v1/approvals?constructor=x', 'constructor', 'known are'],
    ['/v1/approvals/events?limit=3', 'limit', 'known are state'],
    ['/v1/approvals/events?orign=elicitation', 'orign', 'did you mean origin?'],
  ])('%s is 400 that names it and the nearest known one', async (path, key, remedy) => {
    const made = await world();
    const answer = await made.get(path);
    expect(refusal(answer)).toEqual([400, 'invalid_request_error', key]);
    expect(errorOf(answer)['message']).toContain(`Unknown query key ${key}; ${remedy}`);
  });

  it('is refused in HEAD as in GET, and shown only as far as it is fit to be shown', async () => {
    const { port, get } = await world();
    expect((await ask({ port, method: 'HEAD', path: '/v1/runs?stat=x' })).status).toBe(400);
    const { param } = errorOf(await get(`/v1/runs?${'k'.repeat(5_000)}=x`));
    expect(param).toBe(`${'k'.repeat(64)}…`);
    expect(errorOf(await get('/v1/runs?a%0Ab=x'))['param']).toBe('a?b…');
  });
});

describe('the query of what is no list', () => {
  it.each(['/health?x=1', '/v1/models?x=1', '/aura/info?x=1'])('%s may have more', async (path) => {
    const made = await world();
    expect((await made.get(path)).status).toBe(200);
  });
});
