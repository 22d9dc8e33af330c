import type { AnyActorRef } from 'xstate';
import type { PendingTimer, VirtualClock } from './virtual-clock.ts';

/** Whose a pending timer is, and the event it will raise. */
export interface TimerSource {
  readonly source: AnyActorRef;
  readonly type: string;
}

/**
 * Notes whose each timer of a system is from now on. XState gives the clock a bare callback, so its
 * scheduler is asked. To be called before the system's actors start.
 */
export function followTimers(
  { scheduler }: AnyActorRef['system'],
  clock: VirtualClock,
): ReadonlyMap<PendingTimer, TimerSource> {
  const sources = new Map<PendingTimer, TimerSource>();
  const schedule = scheduler.schedule;
  scheduler.schedule = (source, target, event, delay, id) => {
    schedule(source, target, event, delay, id);
    const timer = clock.pending.at(-1);
    if (Number.isFinite(delay) && timer) sources.set(timer, { source, type: event.type });
  };
  return sources;
}
