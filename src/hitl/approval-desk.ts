import type { RunEvent } from '../../machines/run.contract.ts';
import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { Decision, DecisionAnswer } from '../handle.ts';
import type { RunScope } from '../ports/run-scope.ts';

/** Decided approvals that are remembered, so that a repeated decision is answered alike. */
const REMEMBERED_MAX = 10_000;

interface Decided {
  readonly outcome: ApprovalOutcome;
  readonly tenant: string;
}

/**
 * Finds the run that a decision belongs to. It takes no decision itself: it puts the question to
 * the approval's chart and reads from the record who won.
 */
export class ApprovalDesk {
  readonly #open = new Map<string, RunScope>();
  readonly #decided = new Map<string, Decided>();
  readonly #tellRun: (runId: string, event: RunEvent) => void;

  constructor(tellRun: (runId: string, event: RunEvent) => void) {
    this.#tellRun = tellRun;
  }

  opened(decisionId: string, scope: RunScope): void {
    this.#open.set(decisionId, scope);
  }

  closed(decisionId: string, outcome: ApprovalOutcome): void {
    const tenant = this.#open.get(decisionId)?.command.tenant ?? '';
    this.#open.delete(decisionId);
    this.#decided.set(decisionId, { outcome, tenant });
    for (const oldest of this.#decided.keys()) {
      if (this.#decided.size <= REMEMBERED_MAX) break;
      this.#decided.delete(oldest);
    }
  }

  /** The run lets go; what it still asked is not asked here any more. */
  left(scope: RunScope): void {
    for (const decisionId of scope.approvals.keys()) {
      if (this.#open.get(decisionId) === scope) this.#open.delete(decisionId);
    }
  }

  /** The live run that asks; undefined for what another tenant was asked. */
  asker(decisionId: string, tenant = ''): RunScope | undefined {
    const scope = this.#open.get(decisionId);
    return (scope?.command.tenant ?? '') === tenant ? scope : undefined;
  }

  /**
   * Resolves when the decision is durable; what another tenant was asked is unknown. Rejects with
   * `StoreUnavailableError`.
   */
  async decide(decisionId: string, decision: Decision, tenant = ''): Promise<DecisionAnswer> {
    const scope = this.#open.get(decisionId);
    if (scope === undefined) return this.#repeated(decisionId, decision, tenant);
    if ((scope.command.tenant ?? '') !== tenant) return 'unknown';
    const request = scope.approvals.get(decisionId)?.request;
    if (request === undefined) return 'unknown';
    this.#tellRun(scope.runId, {
      type: 'approval.decide',
      toolCallId: request.toolCallId,
      decisionId,
      ...decision,
    });
    // The chart has taken it by now, or something else had come first.
    if (this.#repeated(decisionId, decision, tenant) === 'unknown') return 'unknown';
    try {
      await scope.journal.flushed();
    } catch (error) {
      // Who asks again must not be told that it was taken: the run ends without having heard of it.
      this.#decided.delete(decisionId);
      throw error;
    }
    return 'recorded';
  }

  #repeated(decisionId: string, { approved }: Decision, tenant: string): DecisionAnswer {
    const decided = this.#decided.get(decisionId);
    const kind = decided?.tenant === tenant ? decided.outcome.kind : undefined;
    return kind === (approved ? 'approved' : 'denied') ? 'repeated' : 'unknown';
  }
}
