import type { AnyActorRef, EventObject } from 'xstate';
import type { Clock, TimerHandle } from './clock.ts';

/** The delayed events of an actor system, as XState calls for them. */
interface EventScheduler {
  /** Sends `event` from `source` to `target` after `delay` milliseconds. */
  schedule(
    source: AnyActorRef,
    target: AnyActorRef,
    event: EventObject,
    delay: number,
    id: string | undefined,
  ): void;
  cancel(source: AnyActorRef, id: string): void;
  /** Cancels all that `source` scheduled; XState calls it whenever an actor ends. */
  cancelAll(source: AnyActorRef): void;
}

/** What we touch of an XState system beyond its public type; pinned by a conformance test. */
interface SystemInternals {
  scheduler: EventScheduler;
  getSnapshot(): { readonly _scheduledEvents: Readonly<Record<string, unknown>> };
  _relay(source: AnyActorRef, target: AnyActorRef, event: EventObject): void;
}

/**
 * Gives the system of `actor` a scheduler that keeps its timers by source.
 *
 * XState's own walks every scheduled event of the system when one actor ends, so the price of a
 * run's end grows with the number of live runs. To an actor the two cannot be told apart, ids used
 * twice included. Only the system's snapshot no longer lists what is scheduled: nothing persists it.
 *
 * Call it between `createActor` and `start`; throws when a timer is running already or when XState
 * has another shape than the one this was written for.
 */
export function indexScheduler(actor: AnyActorRef, clock: Clock): void {
  // The type of a system leaves out what XState marks as internal.
  const system = actor.system as unknown as SystemInternals;
  assertUntouched(system);
  system.scheduler = createScheduler(system, clock);
}

function assertUntouched(system: SystemInternals): void {
  if (typeof system._relay !== 'function' || typeof system.scheduler?.cancelAll !== 'function') {
    throw new TypeError('This version of xstate has another scheduler; pin the tested version.');
  }
  if (Object.keys(system.getSnapshot()._scheduledEvents).length > 0) {
    throw new Error('The scheduler must be indexed before the actor starts.');
  }
}

function createScheduler(system: SystemInternals, clock: Clock): EventScheduler {
  const timers = new Map<AnyActorRef, Map<string, TimerHandle>>();
  let unnamed = 0;

  const forget = (source: AnyActorRef, id: string): TimerHandle | undefined => {
    const own = timers.get(source);
    const timer = own?.get(id);
    own?.delete(id);
    if (own?.size === 0) timers.delete(source);
    return timer;
  };

  const keep = (source: AnyActorRef, id: string, timer: TimerHandle): void => {
    const own = timers.get(source);
    if (own === undefined) timers.set(source, new Map([[id, timer]]));
    else own.set(id, timer);
  };

  return {
    schedule(source, target, event, delay, id = `unnamed.${unnamed++}`) {
      const fire = () => {
        forget(source, id);
        system._relay(source, target, event);
      };
      keep(source, id, clock.setTimeout(fire, delay));
    },
    cancel(source, id) {
      clock.clearTimeout(forget(source, id));
    },
    cancelAll(source) {
      const own = timers.get(source);
      timers.delete(source);
      for (const timer of own?.values() ?? []) clock.clearTimeout(timer);
    },
  };
}
