import { describe, expect, it } from 'vitest';
import type { ApprovalItem } from '../../src/approval-item.ts';
import {
  approvalItem,
  DECISION,
  open,
  operatorWorld,
  refusal,
  RUN,
  said,
  until,
  type Answering,
} from './cli-operator-kit.ts';

/** Hazard: a watcher that misses what is decided while it is away, or tells everything again. */

const OTHER = DECISION.replace('d1', 'd2');

const approval = (change: Partial<ApprovalItem> = {}): string =>
  `event: approval\ndata: ${JSON.stringify(approvalItem(change))}\n\n`;
const ready = (pending: number): string =>
  `event: approvals_ready\ndata: {"pending":${pending}}\n\n`;

/** Answers one after the other; then as a server that refuses for good. */
function inTurn(...answers: readonly Response[]): Answering {
  const left = [...answers];
  return () => left.shift() ?? refusal(401, { message: 'No.', code: 'unauthorized' });
}

/** Lets each pause of the watcher pass. */
async function watched(argv: readonly string[], answer: Answering, columns?: number) {
  const world = operatorWorld(answer, columns === undefined ? {} : { columns });
  let code: number | undefined;
  void world.run('approvals', 'watch', ...argv).then((ended) => (code = ended));
  await until(() => {
    if (code === undefined && world.clock.pending.some(({ delayMs }) => delayMs < 30_000)) {
      void world.clock.advance(15_000);
    }
    return code !== undefined;
  });
  return { code, out: world.out(), err: world.err(), world };
}

describe('approvals watch', () => {
  it('prints what waits, then what changes, a line each', async () => {
    const decided = approval({ state: 'approved', decided_by: 'key:ops', reason: 'Fine.' });
    const stream = said(approval(), ready(1), decided);
    const { out, err, world } = await watched([], inTurn(stream));
    expect(world.requests[0]?.path).toBe('/v1/approvals/events?state=pending');
    expect(world.requests[0]?.headers.get('accept')).toBe('text/event-stream');
    expect(out).toBe(
      `00:00:00Z ${DECISION} pending   delete_file {"path":"notes.txt"} ` +
        `(helper, run ${RUN}, conversational, waits 0ms, 1m 30s left)\n` +
        `00:00:00Z ${DECISION} approved  delete_file (helper, run ${RUN}) by key:ops, reason: Fine.\n`,
    );
    expect(err).toContain('1 waiting for an approval.\n');
  });

  it('sends its filters', async () => {
    const filters = ['--state', 'all', '--agent', 'a', '--tool', 't', '--run', 'r'];
    const { world } = await watched(filters, inTurn());
    expect(world.requests[0]?.path).toBe('/v1/approvals/events?agent=a&run_id=r&tool_name=t');
  });

  it('comes back, tells no more than what is new, and what has ended meanwhile', async () => {
    const answer = inTurn(
      said(approval(), approval({ decision_id: OTHER }), ready(2)),
      said(approval({ parked: true }), ready(1)),
    );
    const { code, out, err, world } = await watched([], answer);
    expect(world.requests.map(({ headers }) => headers.get('last-event-id'))).toEqual([
      null,
      null,
      null,
    ]);
    expect(out.split('\n').map((line) => line.split(' ')[1])).toEqual([
      DECISION,
      OTHER,
      DECISION,
      undefined,
    ]);
    expect(out).toContain('(parked)');
    expect(err).toContain(
      `${OTHER} does not wait any more; see it by "runwarden approvals show ${OTHER}".\n`,
    );
    expect(err).not.toContain(`${DECISION} does not wait`);
    expect(code).toBe(6);
  });

  it('takes nothing for ended that a broken connection did not come to tell of', async () => {
    const answer = inTurn(
      said(approval(), approval({ decision_id: OTHER }), ready(2)),
      said(approval()),
      said(approval(), approval({ decision_id: OTHER }), ready(2)),
    );
    const { out, err } = await watched([], answer);
    expect(out.split('\n')).toHaveLength(3);
    expect(err).not.toContain('does not wait any more');
  });

  it('prints one line of JSON each for a program, and the rest elsewhere', async () => {
    const { out, err } = await watched(['--json'], inTurn(said(approval(), ready(1))));
    expect(out).toBe(`${JSON.stringify(approvalItem())}\n`);
    expect(err).not.toContain('waiting for');
  });

  it('passes over events that it does not know', async () => {
    const stream = said('event: news\ndata: {}\n\n', 'data: {}\n\n', ready(0));
    const { out, err } = await watched([], inTurn(stream));
    expect([out, err.split('\n')[0]]).toEqual(['', 'Nothing waits for an approval.']);
  });

  it('shows nothing that a terminal would obey', async () => {
    const { out } = await watched([], inTurn(said(approval({ tool_name: 'rm\u001b[2J\n' }))));
    expect(out).toContain('rm\\x1b[2J\\n');
  });

  it('is 5 for what is no approval', async () => {
    const { code, err } = await watched([], inTurn(said('event: approval\ndata: {"a":1}\n\n')));
    expect({ code, named: err.includes('decision_id') }).toEqual({ code: 5, named: true });
  });

  it('gives up after ten tries in a row', async () => {
    const { code, err } = await watched([], () => said());
    expect(code).toBe(5);
    expect(err).toContain('Gave up after 10 tries');
  });

  it('counts no try against a server that keeps coming back', async () => {
    let visits = 0;
    const { code, world } = await watched([], () => {
      visits += 1;
      return visits <= 15 ? said(ready(0)) : refusal(401, { message: 'No.', code: 'unauthorized' });
    });
    expect({ code, requests: world.requests.length }).toEqual({ code: 6, requests: 16 });
  });

  it('ends with 130 when it is interrupted', async () => {
    const { response } = open(approval(), ready(1));
    const world = operatorWorld(() => response);
    const code = world.run('approvals', 'watch');
    await world.printed('1 waiting');
    world.signals.emit('SIGINT');
    expect(await code).toBe(130);
  });
});
