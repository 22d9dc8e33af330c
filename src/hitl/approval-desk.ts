import type { RunEvent } from '../../machines/run.contract.ts';
import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import type { Decision, DecisionAnswer } from '../handle.ts';
import type { RunScope } from '../ports/run-scope.ts';

/** Decided approvals that are remembered, so that a repeated decision is answered alike. */
const REMEMBERED_MAX = 10_000;

/**
 * Finds the run that a decision belongs to. It takes no decision itself: it puts the question to
 * the approval's chart and reads from the record who won.
 */
export class ApprovalDesk {
  readonly #open = new Map<string, RunScope>();
  readonly #decided = new Map<string, ApprovalOutcome>();
  readonly #tellRun: (runId: string, event: RunEvent) => void;

  constructor(tellRun: (runId: string, event: RunEvent) => void) {
    this.#tellRun = tellRun;
  }

  opened(decisionId: string, scope: RunScope): void {
    this.#open.set(decisionId, scope);
  }

  closed(decisionId: string, outcome: ApprovalOutcome): void {
    this.#open.delete(decisionId);
    this.#decided.set(decisionId, outcome);
    for (const oldest of this.#decided.keys()) {
      if (this.#decided.size <= REMEMBERED_MAX) break;
      this.#decided.delete(oldest);
    }
  }

  /** Resolves when the decision is durable. Rejects with `StoreUnavailableError`. */
  async decide(decisionId: string, decision: Decision): Promise<DecisionAnswer> {
    const scope = this.#open.get(decisionId);
    if (scope === undefined) return this.#repeated(decisionId, decision);
    const request = scope.approvals.get(decisionId)?.request;
    if (request === undefined) return 'unknown';
    this.#tellRun(scope.runId, {
      type: 'approval.decide',
      toolCallId: request.toolCallId,
      decisionId,
      ...decision,
    });
    // The chart has taken it by now, or something else had come first.
    if (this.#repeated(decisionId, decision) === 'unknown') return 'unknown';
    await scope.journal.flushed();
    return 'recorded';
  }

  #repeated(decisionId: string, { approved }: Decision): DecisionAnswer {
    const kind = this.#decided.get(decisionId)?.kind;
    return kind === (approved ? 'approved' : 'denied') ? 'repeated' : 'unknown';
  }
}
