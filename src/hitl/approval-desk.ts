import type { RunEvent } from '../../machines/run.contract.ts';
import type { ApprovalOutcome, ApprovalRequest, ApprovalRoute } from '../../machines/vocabulary.ts';
import { steadyNow } from '../clock.ts';
import { DecisionRefusedError } from '../errors.ts';
import type { ApprovalItem, DecisionAnswer, DecisionCommand } from '../approval-item.ts';
import { subjectOf } from '../ports/decision-subject.ts';
import type { ApprovalRecord, RunScope } from '../ports/run-scope.ts';
import { checkDecision } from './check-decision.ts';
import { isSameDecision } from './same-decision.ts';

/** Decided approvals that are remembered, so that a repeated decision is answered alike. */
const REMEMBERED_MAX = 10_000;

interface Decided {
  readonly outcome: ApprovalOutcome;
  readonly tenant: string;
  readonly route: ApprovalRoute;
  /** Of the arguments that were asked for. */
  readonly argumentsDigest: string;
}

/** An approval has changed. `scope`: the live run that has it; absent for one of a parked run. */
export interface DeskChange {
  readonly decisionId: string;
  readonly tenant: string;
  readonly scope?: RunScope;
  /** As it stands now, where nobody can be asked for that any more. */
  readonly item?: ApprovalItem;
}

/**
 * Finds the run that a decision belongs to. It takes no decision itself: it puts the question to
 * the approval's chart and reads from the record who won.
 */
export class ApprovalDesk {
  readonly #open = new Map<string, RunScope>();
  readonly #decided = new Map<string, Decided>();
  readonly #watchers = new Set<(change: DeskChange) => void>();
  readonly #tellRun: (runId: string, event: RunEvent) => void;

  constructor(tellRun: (runId: string, event: RunEvent) => void) {
    this.#tellRun = tellRun;
  }

  /** Puts an event to a live run's chart; one that is gone hears nothing. */
  tell(runId: string, event: RunEvent): void {
    this.#tellRun(runId, event);
  }

  opened(decisionId: string, scope: RunScope): void {
    this.#open.set(decisionId, scope);
    this.#changed(decisionId, scope);
  }

  /** One that was decided while its run was parked has not been opened in the run that goes on. */
  closed(
    request: Pick<ApprovalRequest, 'decisionId' | 'route' | 'argumentsDigest'>,
    outcome: ApprovalOutcome,
    scope: RunScope,
  ): void {
    const { decisionId, route, argumentsDigest } = request;
    const wasOpen = this.#open.delete(decisionId);
    const tenant = scope.command.tenant ?? '';
    this.#decided.set(decisionId, { outcome, tenant, route, argumentsDigest });
    for (const oldest of this.#decided.keys()) {
      if (this.#decided.size <= REMEMBERED_MAX) break;
      this.#decided.delete(oldest);
    }
    if (wasOpen) this.#changed(decisionId, scope);
  }

  /** The run lets go; what it still asked is not asked here any more. */
  left(scope: RunScope): void {
    for (const decisionId of scope.approvals.keys()) {
      if (this.#open.get(decisionId) !== scope) continue;
      this.#open.delete(decisionId);
      this.changed({ decisionId, tenant: scope.command.tenant ?? '' });
    }
  }

  /** Calls `fn` at each change of an approval. Gives how to stop. */
  watch(fn: (change: DeskChange) => void): () => void {
    this.#watchers.add(fn);
    return () => void this.#watchers.delete(fn);
  }

  changed(change: DeskChange): void {
    for (const fn of this.#watchers) fn(change);
  }

  #changed(decisionId: string, scope: RunScope): void {
    this.changed({ decisionId, tenant: scope.command.tenant ?? '', scope });
  }

  /** The live run that asks; undefined for what another tenant was asked. */
  asker(decisionId: string, asking: Asking): RunScope | undefined {
    const scope = this.#open.get(decisionId);
    return isFor(scope?.command.tenant ?? '', asking) ? scope : undefined;
  }

  /**
   * Resolves when the decision is durable; what another tenant was asked is unknown. Rejects with
   * `DecisionRefusedError` and `StoreUnavailableError`.
   */
  async decide(
    decisionId: string,
    decision: DecisionCommand,
    tenant = '',
  ): Promise<DecisionAnswer> {
    const asking = { tenant, signed: decision.signed === true };
    const scope = this.#open.get(decisionId);
    if (scope === undefined) return this.#repeated(decisionId, decision, asking);
    if (!isFor(scope.command.tenant ?? '', asking)) return 'unknown';
    const record = scope.approvals.get(decisionId);
    if (record === undefined || !mayDecide(record.request, decision)) return 'unknown';
    // A busy process may read a decision before it sees that the time is over: then that counts.
    if (steadyNow(scope.clock) >= record.expiresAt) return 'unknown';
    const taken = fitting(scope, record, decision);
    this.#tellRun(scope.runId, {
      type: 'approval.decide',
      toolCallId: record.request.toolCallId,
      decisionId,
      ...taken,
      ...(decision.reason !== undefined && { reason: scope.redact(decision.reason) }),
    });
    // The chart has taken it by now, or something else had come first.
    if (this.#repeated(decisionId, decision, asking) === 'unknown') return 'unknown';
    try {
      await scope.journal.flushed();
    } catch (error) {
      // Who asks again must not be told that it was taken: the run ends without having heard of it.
      this.#decided.delete(decisionId);
      throw error;
    }
    return 'recorded';
  }

  #repeated(decisionId: string, decision: DecisionCommand, asking: Asking): DecisionAnswer {
    const decided = this.#decided.get(decisionId);
    if (decided === undefined || !isFor(decided.tenant, asking)) return 'unknown';
    if (!mayDecide(decided, asking)) return 'unknown';
    const { outcome, argumentsDigest } = decided;
    return isSameDecision(outcome, decision, argumentsDigest) ? 'repeated' : 'unknown';
  }
}

/** Who asks for an approval: a tenant, or whoever has the webhook's secret, which is nobody's. */
export interface Asking {
  readonly tenant: string;
  readonly signed: boolean;
}

const isFor = (owner: string, { tenant, signed }: Asking): boolean => signed || owner === tenant;

/** The chart says so again; here it keeps a decision that is not his from learning what is refused. */
const mayDecide = (
  { route }: { readonly route: ApprovalRoute },
  { signed }: Pick<DecisionCommand, 'signed'>,
): boolean => route === 'conversational' || signed === true;

/** The decision as it is taken. Throws for what the approval does not allow. */
function fitting(
  scope: RunScope,
  { request }: ApprovalRecord,
  decision: DecisionCommand,
): DecisionCommand {
  const taken = checkDecision(subjectOf(scope, request), decision);
  if (taken instanceof DecisionRefusedError) throw taken;
  return taken;
}
