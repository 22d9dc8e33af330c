import type { AnyMachineSnapshot } from 'xstate';

/** What a guard of an eventless transition is asked with; no such guard of ours reads the event. */
const NO_EVENT = { type: '' };

/**
 * Named guards that keep a chart where it is: those of the eventless transitions of its active
 * states that say no now. A guard that takes parameters is not asked.
 */
export function refusingNow(snapshot: AnyMachineSnapshot): readonly string[] {
  const guards: Readonly<Record<string, unknown>> = snapshot.machine.implementations.guards;
  const found = new Set<string>();
  for (const { always = [] } of snapshot._nodes) {
    for (const { guard } of always) {
      if (typeof guard === 'string' && saysNo(guards[guard], snapshot.context)) found.add(guard);
    }
  }
  return [...found];
}

function saysNo(guard: unknown, context: unknown): boolean {
  return typeof guard === 'function' && guard({ context, event: NO_EVENT }) === false;
}
