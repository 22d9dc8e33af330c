import { withdrawnFor } from '../../machines/withdrawn-for.ts';
import { tellApprovalWithdrawn } from '../facts/approvals.ts';
import type { Withdrawal } from '../hitl/withdrawals.ts';
import type { ApprovalRecord, RunScope } from './run-scope.ts';

/**
 * Tells webhooks that nobody waits any more, for approvals that no chart could tell of: those of a run
 * that is parked, or ends without its chart. `withinMs` bounds the wait; what is not sure by then is told
 * as not notified, though the notice goes on. Never rejects.
 */
export async function withdrawOwed(scope: RunScope, withinMs: number | undefined): Promise<void> {
  const owed = [...scope.approvals.values()].flatMap((record) => reasonsOf(record));
  await Promise.all(owed.map((one) => withdraw(scope, one, withinMs)));
}

interface Owed {
  readonly record: ApprovalRecord;
  readonly reason: string;
}

function reasonsOf(record: ApprovalRecord): readonly Owed[] {
  const { request, outcome, withdrawn } = record;
  if (outcome === undefined || withdrawn === true) return [];
  const reason = withdrawnFor(request, outcome);
  return reason === undefined ? [] : [{ record, reason }];
}

async function withdraw(
  scope: RunScope,
  { record: { request }, reason }: Owed,
  withinMs: number | undefined,
): Promise<void> {
  const { runId } = scope;
  const { decisionId, toolCallId } = request;
  const sent = tellWebhook(scope, { decisionId, reason });
  const notified = withinMs === undefined ? await sent : await within(scope, sent, withinMs);
  if (scope.journal.settled) return;
  const withdrawal = { runId, toolCallId, decisionId, reason };
  tellApprovalWithdrawn(scope, { withdrawal, notified });
}

/**
 * Tells the webhook once that it is over, as soon as that is durable: after a crash nobody waits for it
 * again. Resolves to whether the notice was taken; never rejects.
 */
export async function tellWebhook(
  { journal, withdrawals, command: { agent, requestHeaders } }: RunScope,
  { decisionId, reason }: Pick<Withdrawal, 'decisionId' | 'reason'>,
): Promise<boolean> {
  await journal.flushed().catch(() => {});
  return await withdrawals.send({ agent, decisionId, reason, requestHeaders });
}

async function within({ clock }: RunScope, sent: Promise<boolean>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = clock.setTimeout(() => late.resolve(false), ms);
  const notified = await Promise.race([sent, late.promise]);
  clock.clearTimeout(timer);
  return notified;
}
