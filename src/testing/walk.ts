import type {
  AnyActorRef,
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
  ExecutableActionsFrom,
  Snapshot,
} from 'xstate';
import { splitSystemEvent } from './drive.ts';
import { labelOfEvent } from './labels.ts';

/** A chart at rest somewhere on its way. */
export type Walk = Snapshot<unknown> & {
  readonly at: AnyMachineSnapshot;
  /** Type and delay of each armed timer by its id. */
  readonly timers: ReadonlyMap<string, ArmedTimer>;
  /** Children that have ended and that the chart has not let go of. */
  readonly ended: readonly string[];
  readonly effects: readonly string[];
};

/** A delayed event of the chart itself. */
export interface ArmedTimer {
  readonly type: string;
  readonly delayMs: number;
}

/** Timers and ended children that are left after `event` took a chart from `walk` to `at`. */
export function stillThere(walk: Walk, event: EventObject, at: AnyMachineSnapshot) {
  const [kind, id] = splitSystemEvent(event.type);
  const timers = new Map([...walk.timers].filter(([, { type }]) => type !== event.type));
  const over = kind === 'done' || kind === 'error' ? [...walk.ended, id] : walk.ended;
  const kept = over.filter((child) => at.children[child] === walk.at.children[child]);
  return { timers, ended: kept.filter((child) => at.children[child] !== undefined) };
}

/** The walk's new place, with what the actions on the way do to timers and tell. */
export function walkOf(
  at: AnyMachineSnapshot,
  actions: Actions,
  before: Pick<Walk, 'timers' | 'ended'> & { readonly fact: (fact: AnyEventObject) => string },
): Walk {
  const timers = new Map(before.timers);
  for (const action of actions) applyToTimers(action, timers);
  const effects = actions.flatMap((action) => effectOf(action, before.fact));
  // A snapshot's type is a union by status; the machine's own status and its fields go together.
  const { status, output, error } = at;
  const own = { status, output, error } as Snapshot<unknown>;
  const armed = status === 'active' ? timers : new Map<string, ArmedTimer>();
  return { ...own, at, timers: armed, ended: before.ended, effects };
}

type Actions = readonly ExecutableActionsFrom<AnyStateMachine>[];

/** Notes what an action does to the timers. */
function applyToTimers(action: Actions[number], timers: Map<string, ArmedTimer>): void {
  const { type, params } = inside(action);
  if (type === 'xstate.cancel') timers.delete(params?.sendId ?? '');
  if (type === 'xstate.raise' && params?.event && isFinite(params.delay)) {
    timers.set(params.id ?? params.event.type, { type: params.event.type, delayMs: params.delay });
  }
}

/** Says in words what an action does; nothing for those that only change the context. */
function effectOf(action: Actions[number], fact: (event: AnyEventObject) => string): string[] {
  const { type, params } = inside(action);
  switch (type) {
    case 'xstate.emit':
      return params?.event ? [`emit ${fact(params.event)}`] : [];
    case 'xstate.raise':
      if (!params?.event || !isFinite(params.delay)) return [];
      return [`arm ${labelOfEvent(params.event)} ${params.delay} ms`];
    case 'xstate.sendTo':
      return [`send ${params?.event?.type} to ${params?.targetId ?? params?.to?.id}`];
    case 'xstate.spawnChild':
      return [`start ${params?.actorRef?.id}`];
    case 'xstate.stopChild':
      return params?.id === undefined ? [] : [`stop ${params.id}`];
    default:
      return type.startsWith('xstate.') ? [] : [`do ${type}`];
  }
}

/** XState's types leave out most of its own actions; a unit test pins those told apart here. */
const inside = (action: unknown) => action as { type: string; params?: ActionParams };

/** A timer that never fires is none. */
const isFinite = (delay: number | undefined): delay is number =>
  delay !== undefined && delay !== Number.POSITIVE_INFINITY;

interface ActionParams {
  readonly event?: AnyEventObject;
  readonly id?: string;
  readonly delay?: number;
  readonly sendId?: string;
  readonly targetId?: string;
  readonly to?: AnyActorRef;
  readonly actorRef?: AnyActorRef;
}
