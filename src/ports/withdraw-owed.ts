import { withdrawnFor } from '../../machines/withdrawn-for.ts';
import { tellApprovalWithdrawn } from '../facts/approvals.ts';
import type { ApprovalRecord, RunScope } from './run-scope.ts';

/**
 * Tells webhooks that nobody waits any more, for approvals that no chart could tell of: those of a run
 * that ends before it came to them, or without its chart. `withinMs` bounds the wait; what is not sure
 * by then is told as not notified, though the notice goes on. Never rejects.
 */
export function withdrawOwed(scope: RunScope, withinMs?: number): Promise<unknown> | undefined {
  const owed = [...scope.approvals.values()].flatMap((record) => reasonsOf(record));
  if (owed.length === 0) return undefined; // Nearly every run: its end does not wait for anything.
  return Promise.all(owed.map((one) => withdraw(scope, one, withinMs)));
}

interface Owed {
  readonly record: ApprovalRecord;
  readonly reason: string;
}

function reasonsOf(record: ApprovalRecord): readonly Owed[] {
  const { request, outcome, withdrawn } = record;
  if (request.route !== 'webhook' || withdrawn === true) return [];
  const known = outcome ?? request.decided;
  // One without an outcome is of a run that never began.
  const reason = known === undefined ? 'run_ended' : withdrawnFor(request, known);
  return reason === undefined ? [] : [{ record, reason }];
}

async function withdraw(
  scope: RunScope,
  { record: { request }, reason }: Owed,
  withinMs: number | undefined,
): Promise<void> {
  const { runId, command, withdrawals } = scope;
  const { decisionId, toolCallId } = request;
  const { agent, requestHeaders } = command;
  const sent = withdrawals.send({ agent, decisionId, reason, requestHeaders });
  // A run that never began tells of none that it would have gone on with.
  if (scope.startedAt === null) return;
  const notified = withinMs === undefined ? await sent : await within(scope, sent, withinMs);
  if (scope.journal.settled) return;
  const withdrawal = { runId, toolCallId, decisionId, reason };
  tellApprovalWithdrawn(scope, { withdrawal, notified });
}

async function within({ clock }: RunScope, sent: Promise<boolean>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = clock.setTimeout(() => late.resolve(false), ms);
  const notified = await Promise.race([sent, late.promise]);
  clock.clearTimeout(timer);
  return notified;
}
