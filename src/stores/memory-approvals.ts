import { firstOf, OrderedKeys } from './ordered-keys.ts';
import { RealmKeys } from './realms.ts';
import type { ApprovalLine, ApprovalQuery, DecideOutcome, StoredApproval } from './store.ts';

/** Approvals of parked runs; an outcome is set once and never again. */
export class MemoryApprovals {
  readonly #rows = new Map<string, StoredApproval>();
  readonly #ids = new RealmKeys();
  readonly #byRun = new Map<string, Set<string>>();
  /** Those that nobody has decided: decision ids by keys in the order of their expiries. */
  readonly #undecided = new Map<string, string>();
  readonly #expiries = new OrderedKeys();

  /** One that is here already goes on with the new run, as it was decided. */
  put(run: { runId: string; sessionId: string }, line: ApprovalLine): void {
    const known = this.#rows.get(line.decisionId);
    if (known !== undefined) this.#remove(known);
    this.#ids.add(run.sessionId, line.decisionId);
    const row = { ...line, ...run, outcome: known?.outcome };
    this.#rows.set(line.decisionId, row);
    if (row.outcome === undefined) this.#expires(row);
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
    return { won: true, approval: this.#close(approval, outcome) };
  }

  /** True when this call closed one that has expired and waited for a decision. */
  expire(decisionId: string, outcome: string, now: number): boolean {
    const approval = this.#rows.get(decisionId);
    if (approval === undefined || approval.outcome !== undefined) return false;
    if (approval.expiresAt > now) return false;
    this.#close(approval, outcome);
    return true;
  }

  /** Those of a run. */
  forget(runId: string): void {
    for (const approval of this.#ofRun(runId)) this.#remove(approval);
  }

  /** Those of a run that nobody has decided, expired or not. Answers what they were. */
  forgetUndecided(runId: string): readonly StoredApproval[] {
    const undecided = this.#ofRun(runId).filter(({ outcome }) => outcome === undefined);
    for (const approval of undecided) this.#remove(approval);
    return undecided;
  }

  list({ realm, runId, pendingAt, before, limit }: ApprovalQuery): StoredApproval[] {
    return firstOf(this.#ids.of(realm).descending(before), limit, (decisionId) => {
      const approval = this.#rows.get(decisionId);
      if (approval === undefined) return undefined;
      if (runId !== undefined && approval.runId !== runId) return undefined;
      return pendingAt === undefined || isPending(approval, pendingAt) ? approval : undefined;
    });
  }

  /** Those that nobody has decided, of runs that wait for a resume, first by their expiry. */
  listExpiring(limit: number, isResumable: (runId: string) => boolean): StoredApproval[] {
    return firstOf(this.#expiries.ascending(''), limit, (key) => {
      const approval = this.#rows.get(this.#undecided.get(key) ?? '');
      return approval !== undefined && isResumable(approval.runId) ? approval : undefined;
    });
  }

  #close(approval: StoredApproval, outcome: string): StoredApproval {
    const closed = { ...approval, outcome };
    this.#rows.set(approval.decisionId, closed);
    this.#neverExpires(approval);
    return closed;
  }

  #expires(approval: StoredApproval): void {
    const key = expiryKey(approval);
    this.#undecided.set(key, approval.decisionId);
    this.#expiries.add(key);
  }

  #neverExpires(approval: StoredApproval): void {
    const key = expiryKey(approval);
    this.#undecided.delete(key);
    this.#expiries.delete(key);
  }

  #ofRun(runId: string): StoredApproval[] {
    const ids = [...(this.#byRun.get(runId) ?? [])];
    return ids.map((decisionId) => this.#rows.get(decisionId)).filter((row) => row !== undefined);
  }

  #remove(approval: StoredApproval): void {
    const { decisionId, runId, sessionId } = approval;
    const ofRun = this.#byRun.get(runId);
    this.#neverExpires(approval);
    this.#rows.delete(decisionId);
    this.#ids.delete(sessionId, decisionId);
    ofRun?.delete(decisionId);
    if (ofRun?.size === 0) this.#byRun.delete(runId);
  }
}

/** Numbers that are not negative have the order of their bits, `Infinity` included. */
function expiryKey({ expiresAt, decisionId }: StoredApproval): string {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, Math.max(0, expiresAt));
  return bits.getBigUint64(0).toString(16).padStart(16, '0') + decisionId;
}

const isPending = ({ outcome, expiresAt }: StoredApproval, now: number): boolean =>
  outcome === undefined && now < expiresAt;
