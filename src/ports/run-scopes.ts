import type { RunScope } from './run-scope.ts';

/**
 * The live runs' scopes by run id, and by their session. An entry is removed by the run that made it
 * alone.
 */
export class RunScopes {
  readonly #scopes = new Map<string, RunScope>();
  readonly #sessions = new Map<string, Set<RunScope>>();
  readonly #tenants = new Map<string, number>();
  readonly #onReleased: (scope: RunScope) => void;

  /** `onReleased` hears of each run that has let go of everything. */
  constructor(onReleased: (scope: RunScope) => void) {
    this.#onReleased = onReleased;
  }

  add(scope: RunScope): void {
    this.#scopes.set(scope.runId, scope);
    const session = this.#sessions.get(scope.sessionKey) ?? new Set();
    this.#sessions.set(scope.sessionKey, session.add(scope));
    this.#count(scope, 1);
  }

  /** The live runs of a session, oldest first. */
  inSession(key: string): Iterable<RunScope> {
    return this.#sessions.get(key) ?? [];
  }

  /** How many runs of a tenant live. */
  ofTenant(tenant: string): number {
    return this.#tenants.get(tenant) ?? 0;
  }

  get(runId: string): RunScope | undefined {
    return this.#scopes.get(runId);
  }

  /** For ports: a chart never outlives its scope. */
  require(runId: string): RunScope {
    const scope = this.#scopes.get(runId);
    if (scope === undefined) throw new Error(`invariant: run ${runId} has a scope while it lives`);
    return scope;
  }

  remove(scope: RunScope): void {
    if (this.#scopes.get(scope.runId) !== scope) return;
    this.#scopes.delete(scope.runId);
    this.#count(scope, -1);
    const session = this.#sessions.get(scope.sessionKey);
    if (session?.delete(scope) === true && session.size === 0) {
      this.#sessions.delete(scope.sessionKey);
    }
  }

  /** The run is over and holds nothing any more. */
  released(scope: RunScope): void {
    this.#onReleased(scope);
  }

  #count({ command: { tenant = '' } }: RunScope, change: 1 | -1): void {
    const live = this.ofTenant(tenant) + change;
    if (live > 0) this.#tenants.set(tenant, live);
    else this.#tenants.delete(tenant);
  }

  values(): IterableIterator<RunScope> {
    return this.#scopes.values();
  }
}
