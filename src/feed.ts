import type { AnyActorRef, EventObject, InspectionEvent } from 'xstate';
import { type RunFact, recordFact } from './facts/run-facts.ts';
import type { Log } from './log.ts';
import type { RunScope, RunScopes } from './ports/run-scope.ts';

/** Facts of actors that belong to no run: pools, connections, shutdown, the supervisor itself. */
export type SystemFact = EventObject;

export interface FeedDeps {
  readonly scopes: RunScopes;
  readonly log: Log;
  readonly onSystemFact: (fact: SystemFact, actor: AnyActorRef) => void;
}

/**
 * Hears every fact of every actor from its first moment on.
 *
 * XState tells of an actor's creation before it starts, so nothing is emitted unheard, at any
 * depth. The inspector returns at once for everything else and never throws: an exception here
 * would come out of somebody's `send`.
 */
export function createFeed(deps: FeedDeps): (event: InspectionEvent) => void {
  const owners = new WeakMap<AnyActorRef, RunScope>();
  return (event) => {
    if (event.type !== '@xstate.actor') return;
    const actor = event.actorRef as AnyActorRef;
    const scope = ownerOf(actor, owners, deps.scopes);
    if (scope === undefined) {
      actor.on('*', (fact) => guarded(deps, () => deps.onSystemFact(fact, actor)));
      return;
    }
    owners.set(actor, scope);
    actor.on('*', (fact) => guarded(deps, () => recordFact(scope, fact as RunFact)));
  };
}

/** A run's actor is known by its id, what it owns by its parent. */
function ownerOf(
  actor: AnyActorRef,
  owners: WeakMap<AnyActorRef, RunScope>,
  scopes: RunScopes,
): RunScope | undefined {
  const parent = actor._parent;
  if (parent === undefined) return undefined;
  return owners.get(parent) ?? (parent.id === 'runs' ? scopes.get(actor.id) : undefined);
}

function guarded({ log }: FeedDeps, hear: () => void): void {
  try {
    hear();
  } catch (error) {
    log.error({ err: error }, 'A fact could not be recorded');
  }
}
