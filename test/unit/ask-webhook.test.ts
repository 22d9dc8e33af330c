import { describe, expect, it } from 'vitest';
import { createActor, toPromise } from 'xstate';
import type { PostAnswer } from '../../machines/approval.machine.ts';
import type { WebhookAnswer } from '../../src/hitl/channel.ts';
import { postApprovalPort } from '../../src/ports/ask-webhook.ts';
import type { RunScope } from '../../src/ports/run-scope.ts';
import type { RunScopes } from '../../src/ports/run-scopes.ts';
import { APPROVAL } from '../model/samples.ts';

const EXPIRES_AT = 1_000;

/** Asks once at `now`; the channel does what it is told. Gives the answer and what was logged. */
async function ask(now: number, channel: (at: { now: number }) => Promise<WebhookAnswer>) {
  const time = { now };
  const logged: string[] = [];
  const request = { ...APPROVAL, route: 'webhook' as const };
  const record = { request, requestedAt: 0, expiresAt: EXPIRES_AT, outcome: undefined };
  const scope = {
    runId: 'run-1',
    sessionId: 's',
    journal: { flushed: () => Promise.resolve() },
    clock: { now: () => time.now },
    log: { warn: (_: unknown, message: string) => logged.push(message) },
    calls: new Map(),
    approvals: new Map([[request.decisionId, record]]),
    command: { requestHeaders: {} },
    agent: {
      gate: () => ({ effect: 'allow' }),
      approvals: { channel: { ask: () => channel(time) } },
    },
    redact: (text: string) => text.replaceAll('secret', '[redacted]'),
    tool: () => undefined,
    holdToolHeaders: () => {},
  };
  // As much of a run as the port looks at.
  const scopes = { require: () => scope as unknown as RunScope } as unknown as RunScopes;
  const input = { runId: 'run-1', decisionId: request.decisionId };
  const actor = createActor(
    postApprovalPort(scopes, () => 0),
    { input },
  );
  actor.start();
  const answer: PostAnswer = await toPromise(actor);
  return { answer, logged };
}

const approved = (reason: string): WebhookAnswer => ({
  kind: 'decided',
  decision: { approved: true, reason },
  toolHeaders: {},
});

describe('the port that asks a webhook', () => {
  it('asks nobody once the time is over, which a run that had to wait may find', async () => {
    let asked = 0;
    const { answer } = await ask(EXPIRES_AT, () => {
      asked += 1;
      return Promise.resolve(approved('late'));
    });
    expect(answer).toEqual({ kind: 'expired' });
    expect(asked).toBe(0);
  });

  it('takes no answer that comes when the time is over', async () => {
    const { answer } = await ask(EXPIRES_AT - 1, (time) => {
      time.now = EXPIRES_AT;
      return Promise.resolve(approved('late'));
    });
    expect(answer).toEqual({ kind: 'expired' });
  });

  it('keeps known secrets out of the reason', async () => {
    const { answer } = await ask(0, () => Promise.resolve(approved('my secret')));
    expect(answer).toMatchObject({ decision: { approved: true, reason: 'my [redacted]' } });
  });

  it('says in the log what a channel threw, and takes it for no decision', async () => {
    const { answer, logged } = await ask(0, () => Promise.reject(new Error('bug')));
    expect(answer).toMatchObject({ kind: 'failed', retryable: false });
    expect(logged).toEqual(['An approval channel threw']);
  });
});
