import { describe, expect, it } from 'vitest';
import type { WebhookChannel, WebhookContext } from '../../src/hitl/channel.ts';
import { WITHDRAW_MS, Withdrawals } from '../../src/hitl/withdrawals.ts';
import { createLog } from '../../src/log.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

/** Hazard: whoever tells a webhook waits for it. One that is slow, deaf or broken must cost a bounded time. */

interface Told {
  readonly notice: { decisionId: string; reason: string };
  readonly context: WebhookContext;
  readonly answer: PromiseWithResolvers<boolean>;
}

function world() {
  const clock = createVirtualClock();
  const told: Told[] = [];
  const lines: Record<string, unknown>[] = [];
  const channel: WebhookChannel = {
    ask: () => Promise.reject(new Error('nobody asks here')),
    withdraw(notice, context) {
      const answer = Promise.withResolvers<boolean>();
      told.push({ notice, context, answer });
      return answer.promise;
    },
  };
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const withdrawals = new Withdrawals({
    channelOf: (agent) => (agent === 'a' ? channel : undefined),
    clock,
    log: createLog({ level: 'info', destination: { write } }),
  });
  return { withdrawals, told, clock, lines, channel };
}

const ONE = { agent: 'a', decisionId: 'd', reason: 'timed_out' };

/** What a promise has come to by now. */
async function stateOf<T>(promise: Promise<T>): Promise<T | 'pending'> {
  return await Promise.race([
    promise,
    new Promise<'pending'>((resolve) => void setImmediate(() => resolve('pending'))),
  ]);
}

describe('notices to webhooks', () => {
  it.each([true, false])('resolves to what the webhook made of it: %s', async (isTaken) => {
    const { withdrawals, told, clock } = world();
    const sent = withdrawals.send({ ...ONE, requestHeaders: { 'x-a': '1' } });
    told[0]?.answer.resolve(isTaken);

    expect(await sent).toBe(isTaken);
    expect(told[0]?.notice).toEqual({ decisionId: 'd', reason: 'timed_out' });
    expect(told[0]?.context.requestHeaders).toEqual({ 'x-a': '1' });
    expect(clock.pending).toEqual([]);
  });

  it('gives up one that is not answered in time, and cuts it off', async () => {
    const { withdrawals, told, clock } = world();
    const sent = withdrawals.send(ONE);
    await clock.advance(WITHDRAW_MS - 1);
    expect([await stateOf(sent), told[0]?.context.signal.aborted]).toEqual(['pending', false]);
    await clock.advance(1);

    expect([await stateOf(sent), told[0]?.context.signal.aborted]).toEqual([false, true]);
  });

  it('is not taken by an agent without a webhook, nor by one that nobody knows', async () => {
    const { withdrawals, told } = world();

    expect(await withdrawals.send({ ...ONE, agent: 'b' })).toBe(false);
    expect(told).toEqual([]);
  });

  it('never rejects, and tells nobody what a broken channel said', async () => {
    const { withdrawals, told, lines, channel, clock } = world();
    const rejected = withdrawals.send(ONE);
    told[0]?.answer.reject(new Error('the secret is swordfish'));
    expect(await rejected).toBe(false);
    channel.withdraw = () => {
      throw new Error('the secret is swordfish');
    };

    expect(await withdrawals.send({ ...ONE, decisionId: 'e' })).toBe(false);
    expect(JSON.stringify(lines)).not.toContain('swordfish');
    expect(clock.pending).toEqual([]);
  });

  it('tells once of a decision, and answers who comes later with that', async () => {
    const { withdrawals, told } = world();
    const first = withdrawals.send(ONE);
    const second = withdrawals.send({ ...ONE, reason: 'external' });
    told[0]?.answer.resolve(true);

    expect(await Promise.all([first, second])).toEqual([true, true]);
    expect(await withdrawals.send(ONE)).toBe(true);
    expect(told).toHaveLength(1);
    void withdrawals.send({ ...ONE, decisionId: 'e' });
    expect(told).toHaveLength(2);
  });

  it('is settled when none is under way, those that came meanwhile included', async () => {
    const { withdrawals, told } = world();
    await withdrawals.settled();
    void withdrawals.send(ONE);
    const settled = withdrawals.settled();
    void withdrawals.send({ ...ONE, decisionId: 'e' });
    told[0]?.answer.resolve(true);
    expect(await stateOf(settled)).toBe('pending');
    told[1]?.answer.reject(new Error('gone'));

    expect(await stateOf(settled)).toBeUndefined();
  });

  it('logs each with its decision, and whether it was taken', async () => {
    const { withdrawals, told, lines } = world();
    const sent = withdrawals.send(ONE);
    told[0]?.answer.resolve(true);
    await sent;
    await withdrawals.send({ ...ONE, agent: 'b', decisionId: 'e' });

    expect(lines).toMatchObject([
      { level: 'info', agent: 'a', decision_id: 'd', reason: 'timed_out' },
      { level: 'warn', agent: 'b', decision_id: 'e' },
    ]);
  });
});
