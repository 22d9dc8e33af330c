import { firstOf } from './ordered-keys.ts';
import { RealmKeys } from './realms.ts';
import type { EndedApproval, EndedApprovalQuery } from './store.ts';

/** Approvals that have ended; none ever changes. */
export class MemoryEnded {
  readonly #rows = new Map<string, EndedApproval>();
  readonly #ids = new RealmKeys();
  readonly #byRun = new Map<string, string[]>();

  /** The first one for a decision id stays. */
  put(ended: EndedApproval): void {
    const { decisionId, runId, sessionId } = ended;
    if (this.#rows.has(decisionId)) return;
    this.#rows.set(decisionId, ended);
    this.#ids.add(sessionId, decisionId);
    const ofRun = this.#byRun.get(runId) ?? [];
    this.#byRun.set(runId, ofRun);
    ofRun.push(decisionId);
  }

  get(decisionId: string): EndedApproval | undefined {
    return this.#rows.get(decisionId);
  }

  list({ realm, runId, before, limit }: EndedApprovalQuery): EndedApproval[] {
    return firstOf(this.#ids.of(realm).descending(before), limit, (decisionId) => {
      const ended = this.#rows.get(decisionId);
      return runId === undefined || ended?.runId === runId ? ended : undefined;
    });
  }

  /** Those of a run. */
  forget(runId: string): void {
    for (const decisionId of this.#byRun.get(runId) ?? []) {
      this.#ids.delete(this.#rows.get(decisionId)?.sessionId ?? '', decisionId);
      this.#rows.delete(decisionId);
    }
    this.#byRun.delete(runId);
  }
}
