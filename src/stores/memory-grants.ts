import type { Grant } from './store.ts';

/** Grants by their sessions. */
export class MemoryGrants {
  readonly #sessions = new Map<string, Map<string, Grant>>();

  /** The first one for the same stays. */
  put(grant: Grant): void {
    const grants = this.#sessions.get(grant.sessionId) ?? new Map<string, Grant>();
    const name = JSON.stringify([grant.agent, grant.toolName, grant.matchedPattern]);
    if (!grants.has(name)) grants.set(name, grant);
    this.#sessions.set(grant.sessionId, grants);
  }

  list(sessionId: string): readonly Grant[] {
    return [...(this.#sessions.get(sessionId)?.values() ?? [])];
  }

  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }
}
