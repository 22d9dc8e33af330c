import type { RunOutcome } from '../../machines/vocabulary.ts';
import type { Journal } from '../journal/journal.ts';
import { releaseScope } from './release-run.ts';
import type { RunScope, RunScopes } from './run-scope.ts';
import { settle } from './settle-run.ts';

export interface AbandonOptions {
  readonly scopes: RunScopes;
  readonly journal: Journal;
  readonly why: 'shutdown' | 'crash';
}

/**
 * Ends a run whose chart is gone before it could: stopped as a straggler, or crashed. Its signal is
 * aborted, its end is stored and what it held is given back, so that no run is left a zombie.
 */
export async function abandonRun(scope: RunScope, options: AbandonOptions): Promise<void> {
  const outcome = OUTCOMES[options.why];
  scope.abort(
    outcome.kind === 'failed' ? { kind: 'error', failure: outcome.failure } : { kind: 'shutdown' },
  );
  try {
    abandonObligations(scope);
    if (!scope.settled) await settle(scope, options.journal, outcome);
  } catch (error) {
    scope.log.error({ run_id: scope.runId, err: error }, 'An abandoned run could not be settled');
  }
  await releaseScope(options.scopes, scope, { evict: true });
}

/** What was asked and never answered is told as abandoned. */
function abandonObligations(scope: RunScope): void {
  const now = scope.clock.now();
  for (const [key, { state, askedAt }] of scope.obligations) {
    if (state !== 'asked') continue;
    const [what, ...id] = key.split(':') as ['model' | 'tool' | 'mcp' | 'approval', ...string[]];
    scope.obligations.set(key, { state: 'abandoned', askedAt });
    scope.journal.append('lifecycle', {
      type: 'obligation',
      what,
      id: id.join(':'),
      state: 'abandoned',
      waited_ms: now - askedAt,
    });
  }
}

const OUTCOMES: Readonly<
  Record<AbandonOptions['why'], RunOutcome & { kind: 'failed' | 'cancelled' }>
> = {
  shutdown: { kind: 'cancelled', cause: { kind: 'shutdown' } },
  crash: {
    kind: 'failed',
    failure: { code: 'internal_error', message: 'The run crashed.', retryable: false },
  },
};
