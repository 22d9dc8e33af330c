import { afterEach, describe, expect, it } from 'vitest';
import { startCommand } from '../support/fake-handle.ts';
import { type HttpWorld, httpWorld } from '../support/http-world.ts';
import { type Answer, post } from '../support/raw-client.ts';

const opened: HttpWorld[] = [];

async function world(): Promise<HttpWorld> {
  const made = await httpWorld();
  opened.push(made);
  return made;
}

const errorOf = ({ text }: Answer) => JSON.parse(text).error as Record<string, unknown>;

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('the body of a decision', () => {
  const id = '01890000-0000-7000-8000-00000000000a';

  it('takes null for no reason', async () => {
    const { port, handle } = await world();
    handle.pending.add(id);
    const answer = await post(port, `/v1/approvals/${id}`, { approved: true, reason: null });
    expect([answer.status, handle.decisions]).toEqual([
      204,
      [{ decisionId: id, decision: { approved: true } }],
    ]);
  });

  it.each([
    [{}, '`approved` is missing; it must be true or false.'],
    [{ approved: 'yes' }, '`approved` must be true or false, not a string.'],
    [{ approved: null }, '`approved` must be true or false, not null.'],
    [{ approved: true, reason: {} }, '`reason` must be a string, not an object.'],
    [{ approved: true, reason: 'x'.repeat(8_193) }, '`reason` is longer than 8192 bytes.'],
    [{ approved: true, aproved: 1 }, 'Unknown key `aproved` in the body; leave it out.'],
  ])('says in the words of every route what is wrong with %j', async (body, message) => {
    const { port } = await world();
    const answer = await post(port, `/v1/approvals/${id}`, body);
    expect([answer.status, errorOf(answer)['message']]).toEqual([400, message]);
  });
});

describe('the body of a cancel', () => {
  it('takes null for no message', async () => {
    const made = await world();
    const { runId } = await made.handle.start(startCommand());
    const answer = await post(made.port, `/v1/runs/${runId}/cancel`, { message: null });
    expect(answer.status).toBe(202);
    expect(made.handle.cancels).toEqual([{ runId, message: undefined }]);
  });

  it('is refused in the same words', async () => {
    const { port } = await world();
    const answer = await post(port, '/v1/runs/x/cancel', { message: 1 });
    expect(errorOf(answer)['message']).toBe('`message` must be a string, not a number.');
  });
});
