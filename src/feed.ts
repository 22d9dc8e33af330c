import type { AnyActorRef, EventObject, InspectionEvent } from 'xstate';
import { type RunFact, recordFact } from './facts/run-facts.ts';
import type { Log } from './log.ts';
import type { RunScope } from './ports/run-scope.ts';
import type { RunScopes } from './ports/run-scopes.ts';
import type { GuardNotes } from './transitions/guard-notes.ts';
import { ActorTrace, chartOf, isOfChart } from './transitions/trace.ts';

/** Facts of actors that belong to no run: pools, connections, shutdown, the supervisor itself. */
export type SystemFact = EventObject;

export interface FeedDeps {
  readonly scopes: RunScopes;
  readonly log: Log;
  readonly onSystemFact: (fact: SystemFact, actor: AnyActorRef) => void;
  /** Where the guards of the runs' charts note that they said no. */
  readonly guardNotes: GuardNotes;
}

/** An actor of a run, and where its steps are written. */
interface Owned {
  readonly scope: RunScope;
  /** Below the run; empty for the run's own chart. */
  readonly path: string;
  readonly isChart: boolean;
  readonly trace: ActorTrace | undefined;
}

type Owners = WeakMap<object, Owned>;

/**
 * Hears every fact of every actor from its first moment on, and every step of a run's charts.
 *
 * XState tells of an actor's creation before it starts, so nothing is emitted unheard, at any
 * depth. It tells a chart's steps before the facts that they emit. The inspector returns at once
 * for everything else and never throws: an exception here would come out of somebody's `send`.
 */
export function createFeed(deps: FeedDeps): (event: InspectionEvent) => void {
  const owners: Owners = new WeakMap();
  return (event) => {
    switch (event.type) {
      case '@xstate.actor':
        return adopt(event.actorRef as AnyActorRef, owners, deps);
      case '@xstate.microstep':
      case '@xstate.snapshot':
        return follow(event, owners, deps);
      default:
    }
  };
}

function adopt(actor: AnyActorRef, owners: Owners, deps: FeedDeps): void {
  const owned = ownedBy(actor, owners, deps);
  if (owned === undefined) {
    actor.on('*', (fact) => guarded(deps, () => deps.onSystemFact(fact, actor)));
    return;
  }
  // Only a chart has children; a weak map of every actor would be felt at every collection.
  if (owned.isChart) owners.set(actor, owned);
  actor.on('*', (fact) => guarded(deps, () => recordFact(owned.scope, fact as RunFact)));
}

type StepEvent = Extract<InspectionEvent, { type: '@xstate.microstep' | '@xstate.snapshot' }>;

function follow(event: StepEvent, owners: Owners, deps: FeedDeps): void {
  if (!isOfChart(event.snapshot)) return;
  const trace = owners.get(event.actorRef)?.trace;
  if (trace === undefined) return;
  try {
    tellStep(event, trace);
  } catch (error) {
    deps.log.error({ err: error }, 'A transition could not be recorded');
  }
}

function tellStep(told: StepEvent, trace: ActorTrace): void {
  const { event, snapshot } = told;
  if (told.type === '@xstate.snapshot') trace.rested(event, snapshot);
  else trace.stepped({ event, snapshot, transitions: told._transitions });
}

/** A run's actor is known by its id, what it owns by its parent. */
function ownedBy(actor: AnyActorRef, owners: Owners, deps: FeedDeps): Owned | undefined {
  const parent = actor._parent;
  if (parent === undefined) return undefined;
  const above = owners.get(parent);
  if (above !== undefined) {
    const path = above.path === '' ? actor.id : `${above.path}/${actor.id}`;
    return owned(actor, { scope: above.scope, path }, deps);
  }
  const scope = parent.id === 'runs' ? deps.scopes.get(actor.id) : undefined;
  return scope === undefined ? undefined : owned(actor, { scope, path: '' }, deps);
}

function owned(
  actor: AnyActorRef,
  { scope, path }: Pick<Owned, 'scope' | 'path'>,
  { guardNotes }: FeedDeps,
): Owned {
  const chart = chartOf(actor);
  const isChart = chart !== undefined;
  if (!isChart) return { scope, path, isChart, trace: undefined };
  const options = {
    log: scope.transitions,
    notes: guardNotes,
    chart,
    actor: path === '' ? 'run' : path,
  };
  return { scope, path, isChart, trace: new ActorTrace(options) };
}

function guarded({ log }: FeedDeps, hear: () => void): void {
  try {
    hear();
  } catch (error) {
    log.error({ err: error }, 'A fact could not be recorded');
  }
}
