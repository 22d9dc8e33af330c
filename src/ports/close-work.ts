import { fromPromise } from 'xstate';
import type { CloseWorkInput } from '../../machines/run.contract.ts';
import type { RunScopes } from './run-scopes.ts';

/** Resolves when the setup or the model request that the stop found under way has really ended. */
export function closeWorkPort(scopes: RunScopes) {
  return fromPromise<void, CloseWorkInput>(({ input }) => {
    const scope = scopes.require(input.runId);
    if (input.work === 'setup') return scope.setupDone;
    return input.work === 'model' ? scope.modelDone : Promise.resolve();
  });
}
