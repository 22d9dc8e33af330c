import { firstOf } from './ordered-keys.ts';
import { RealmKeys } from './realms.ts';
import type { ApprovalLine, ApprovalQuery, DecideOutcome, StoredApproval } from './store.ts';

/** Approvals of parked runs; an outcome is set once and never again. */
export class MemoryApprovals {
  readonly #rows = new Map<string, StoredApproval>();
  readonly #ids = new RealmKeys();
  readonly #byRun = new Map<string, Set<string>>();

  /** One that is here already goes on with the new run, as it was decided. */
  put(run: { runId: string; sessionId: string }, line: ApprovalLine): void {
    const known = this.#rows.get(line.decisionId);
    if (known !== undefined) this.#remove(known);
    this.#ids.add(run.sessionId, line.decisionId);
    this.#rows.set(line.decisionId, { ...line, ...run, outcome: known?.outcome });
    const ofRun = this.#byRun.get(run.runId) ?? new Set();
    this.#byRun.set(run.runId, ofRun.add(line.decisionId));
  }

  get(decisionId: string): StoredApproval | undefined {
    return this.#rows.get(decisionId);
  }

  decide(decisionId: string, outcome: string, now: number): DecideOutcome {
    const approval = this.#rows.get(decisionId);
    if (approval === undefined) return undefined;
    if (!isPending(approval, now)) return { won: false, approval };
    const decided = { ...approval, outcome };
    this.#rows.set(decisionId, decided);
    return { won: true, approval: decided };
  }

  /** Those of a run. */
  forget(runId: string): void {
    for (const approval of this.#ofRun(runId)) this.#remove(approval);
  }

  /** Those of a run that nobody has decided, expired or not. */
  forgetUndecided(runId: string): void {
    for (const approval of this.#ofRun(runId)) {
      if (approval.outcome === undefined) this.#remove(approval);
    }
  }

  list({ realm, runId, pendingAt, before, limit }: ApprovalQuery): StoredApproval[] {
    return firstOf(this.#ids.of(realm).descending(before), limit, (decisionId) => {
      const approval = this.#rows.get(decisionId);
      if (approval === undefined) return undefined;
      if (runId !== undefined && approval.runId !== runId) return undefined;
      return pendingAt === undefined || isPending(approval, pendingAt) ? approval : undefined;
    });
  }

  #ofRun(runId: string): StoredApproval[] {
    const ids = [...(this.#byRun.get(runId) ?? [])];
    return ids.map((decisionId) => this.#rows.get(decisionId)).filter((row) => row !== undefined);
  }

  #remove({ decisionId, runId, sessionId }: StoredApproval): void {
    const ofRun = this.#byRun.get(runId);
    this.#rows.delete(decisionId);
    this.#ids.delete(sessionId, decisionId);
    ofRun?.delete(decisionId);
    if (ofRun?.size === 0) this.#byRun.delete(runId);
  }
}

const isPending = ({ outcome, expiresAt }: StoredApproval, now: number): boolean =>
  outcome === undefined && now < expiresAt;
