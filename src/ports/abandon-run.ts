import type { ObligationRef, RunOutcome } from '../../machines/vocabulary.ts';
import { recordFact } from '../facts/run-facts.ts';
import type { Journal } from '../journal/journal.ts';
import { releaseScope } from './release-run.ts';
import type { RunScope } from './run-scope.ts';
import type { RunScopes } from './run-scopes.ts';
import { causeOf, settle } from './settle-run.ts';
import { RunStoppedError } from './run-stopped.ts';

/** An aborted run has to be gone soon; a notice that takes longer goes on without it. */
const NOTICES_MS = 200;

export interface AbandonOptions {
  readonly scopes: RunScopes;
  readonly journal: Journal;
  readonly why: 'shutdown' | 'crash';
}

/**
 * Ends a run whose chart is gone before it could: stopped as a straggler, or crashed. Its signal is
 * aborted, its end is stored with what it left open, and what it held is given back, so that no run
 * is left a zombie. Never rejects.
 */
export async function abandonRun(scope: RunScope, options: AbandonOptions): Promise<void> {
  const outcome = outcomeFor(scope, options.why);
  try {
    stop(scope, outcome);
    abandonAsked(scope);
    if (!scope.settled) await settle(scope, options.journal, outcome, NOTICES_MS);
  } catch (error) {
    scope.log.error({ run_id: scope.runId, err: error }, 'An abandoned run could not be settled');
  }
  await releaseScope(options.scopes, scope, { evict: true });
}

/** What the chart would have told at a stop, unless it had begun one. */
function stop(scope: RunScope, outcome: RunOutcome): void {
  if (scope.stop.signal.aborted) return;
  // Behind its last entry, or on the way to it, nothing is told any more.
  const open = scope.journal.settled ? [] : openObligations(scope);
  const cause = causeOf(outcome);
  recordFact(scope, { type: 'run.stopping', cause, obligations: open.length });
  for (const obligation of open) recordFact(scope, { type: 'obligation.asked', obligation });
}

/** What is under way, as the charts name it. */
function openObligations({ work, executions, approvals, agent }: RunScope): ObligationRef[] {
  const open: ObligationRef[] = work === undefined ? [] : [work];
  for (const id of executions.keys()) {
    open.push({ what: 'tool', id });
    if (agent.executor === 'mcp') open.push({ what: 'mcp', id });
  }
  for (const [id, { outcome, request }] of approvals) {
    if ((outcome ?? request.decided) === undefined) open.push({ what: 'approval', id });
  }
  return open;
}

/** Nobody is left to hear an answer. */
function abandonAsked(scope: RunScope): void {
  for (const [key, { state }] of scope.obligations) {
    if (state !== 'asked') continue;
    const [what, ...id] = key.split(':') as [ObligationRef['what'], ...string[]];
    const obligation = { what, id: id.join(':') };
    recordFact(scope, { type: 'obligation.abandoned', obligation });
  }
}

/** Whoever aborts it does not change what it was being stopped for (INV-33). */
function outcomeFor({ stop }: RunScope, why: AbandonOptions['why']): RunOutcome {
  const reason: unknown = stop.signal.reason;
  if (why !== 'shutdown' || !(reason instanceof RunStoppedError)) return OUTCOMES[why];
  const { cause } = reason;
  if (cause.kind === 'error') return { kind: 'failed', failure: cause.failure };
  return { kind: 'cancelled', cause };
}

const OUTCOMES: Readonly<Record<AbandonOptions['why'], RunOutcome>> = {
  shutdown: { kind: 'cancelled', cause: { kind: 'shutdown' } },
  crash: {
    kind: 'failed',
    failure: { code: 'internal_error', message: 'The run crashed.', retryable: false },
  },
};
