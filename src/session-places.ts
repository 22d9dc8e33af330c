import type { SessionEmitted } from '../machines/session.machine.ts';
import type { RunEvent } from '../machines/run.contract.ts';

/** What a session's chart said of a run that asked for its place. */
export type Place =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'queued'; readonly behind: string }
  | { readonly kind: 'refused'; readonly because: 'busy' | 'full'; readonly behind: string };

/**
 * Passes on what the sessions' charts tell. A run may be admitted or displaced before it is there to be
 * told; then it is told when it comes.
 */
export class SessionPlaces {
  readonly #places = new Map<string, Place>();
  /** By which newer run. */
  readonly #displaced = new Map<string, string>();
  readonly #tellRun: (runId: string, event: RunEvent) => void;

  constructor(tellRun: (runId: string, event: RunEvent) => void) {
    this.#tellRun = tellRun;
  }

  hear(fact: SessionEmitted): void {
    switch (fact.type) {
      case 'session.admitted':
        this.#admit(fact.runId);
        return;
      case 'session.queued':
        this.#places.set(fact.runId, { kind: 'queued', behind: fact.behind });
        return;
      case 'session.refused': {
        const { runId, because, behind } = fact;
        this.#places.set(runId, { kind: 'refused', because, behind });
        return;
      }
      case 'session.superseded':
        this.#displaced.set(fact.runId, fact.by);
        this.#displace(fact.runId, fact.by);
    }
  }

  get(runId: string): Place | undefined {
    return this.#places.get(runId);
  }

  /** The run has a chart from now on; one that was displaced before is told. */
  arrived(runId: string): void {
    const by = this.#displaced.get(runId);
    if (by !== undefined) this.#displace(runId, by);
  }

  forget(runId: string): void {
    this.#places.delete(runId);
    this.#displaced.delete(runId);
  }

  #displace(runId: string, by: string): void {
    this.#tellRun(runId, { type: 'run.stop', cause: { kind: 'superseded', by } });
  }

  #admit(runId: string): void {
    const waited = this.#places.get(runId)?.kind === 'queued';
    this.#places.set(runId, { kind: 'admitted' });
    if (waited) this.#tellRun(runId, { type: 'run.begin' });
  }
}
