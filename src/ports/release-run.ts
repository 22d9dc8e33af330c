import { fromPromise } from 'xstate';
import type { ReleaseInput } from '../../machines/run.contract.ts';
import type { RunScope } from './run-scope.ts';
import type { RunScopes } from './run-scopes.ts';

/**
 * Gives back what the run held: deregister, then connections, then the right to write the session
 * (INV-50). Each step runs even when the one before it failed (INV-48); each is bounded (INV-49).
 */
export function releaseRunPort(scopes: RunScopes) {
  return fromPromise<void, ReleaseInput>(({ input }) => {
    const scope = scopes.require(input.runId);
    return releaseScope(scopes, scope, { evict: input.evict });
  });
}

export async function releaseScope(
  scopes: RunScopes,
  scope: RunScope,
  how: { readonly evict: boolean },
): Promise<void> {
  scopes.remove(scope);
  scope.desk.left(scope);
  scope.letGo();
  await step(scope, 'connections', () => scope.lease?.release(how) ?? Promise.resolve());
  await step(scope, 'lease', () => scope.journal.release());
  scopes.released(scope);
}

async function step(scope: RunScope, what: string, release: () => Promise<void>): Promise<void> {
  const { clock, log, runId, agent } = scope;
  const bound = Promise.withResolvers<'late'>();
  const timer = clock.setTimeout(() => bound.resolve('late'), agent.limits.releaseMs);
  try {
    const done = await Promise.race([release(), bound.promise]);
    if (done === 'late') log.warn({ run_id: runId, what }, 'Release is not done within its bound');
  } catch (error) {
    log.warn({ run_id: runId, what, err: error }, 'Release failed');
  } finally {
    clock.clearTimeout(timer);
  }
}
