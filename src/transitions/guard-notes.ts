import type { AnyStateMachine, AnyStateNode, EventObject } from 'xstate';

/** Guards of one step that are named; a chart that has more of them than that says enough. */
const REFUSED_MAX = 8;

interface Note {
  event: EventObject | undefined;
  refused: string[];
}

/**
 * The named guards that said no, by chart, for the step that the chart takes now.
 *
 * A guard is not told whose it is, so a note belongs to the event that the guard was asked about:
 * charts that step inside each other's step do so by events of their own.
 */
export class GuardNotes {
  readonly #notes = new Map<string, Note>();

  /** The guard said no to the event, or to going on after it. */
  add(chart: string, event: EventObject, guard: string): void {
    const note = this.#noteOf(chart);
    if (note.event !== event) {
      note.event = event;
      note.refused = [];
    }
    const { refused } = note;
    if (refused.length < REFUSED_MAX && !refused.includes(guard)) refused.push(guard);
  }

  /** What said no so far; the same list grows until the step is over. Undefined when none did. */
  of(chart: string, event: EventObject): readonly string[] | undefined {
    const note = this.#notes.get(chart);
    return note?.event === event ? note.refused : undefined;
  }

  /** The step of the event is over: another actor may be given the same event. */
  close(chart: string, event: EventObject): void {
    const note = this.#notes.get(chart);
    if (note?.event === event) note.event = undefined;
  }

  #noteOf(chart: string): Note {
    const known = this.#notes.get(chart);
    if (known !== undefined) return known;
    const note: Note = { event: undefined, refused: [] };
    this.#notes.set(chart, note);
    return note;
  }
}

type NamedGuard = (args: { event: EventObject }, params: unknown) => boolean;

/**
 * The same chart, whose named guards note it when they say no to a transition. Guards that are only
 * asked by actions are left alone: their no refuses nothing.
 */
export function watchGuards<Machine extends AnyStateMachine>(
  machine: Machine,
  notes: GuardNotes,
): Machine {
  const guards: Record<string, NamedGuard> = {};
  for (const name of guardNames(machine)) {
    const guard: unknown = machine.implementations.guards[name];
    // `and`, `or`, `not` and `stateIn` are asked in another way; the guards they name are watched.
    if (typeof guard !== 'function' || 'check' in guard) continue;
    guards[name] = watched(guard as NamedGuard, { chart: machine.id, name, notes });
  }
  // Only implementations differ, and each has the type of the one that it wraps.
  return machine.provide({ guards: guards as never }) as Machine;
}

function watched(
  guard: NamedGuard,
  { chart, name, notes }: { chart: string; name: string; notes: GuardNotes },
): NamedGuard {
  return (args, params) => {
    const answer = guard(args, params);
    if (!answer) notes.add(chart, args.event, name);
    return answer;
  };
}

/** Names of the guards that decide on a transition anywhere in the chart. */
function guardNames(machine: AnyStateMachine): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: AnyStateNode): void => {
    const transitions = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
    for (const { guard } of transitions) for (const name of namesIn(guard)) names.add(name);
    for (const child of Object.values(node.states)) visit(child as AnyStateNode);
  };
  visit(machine.root);
  return names;
}

/** XState hangs the parts of a combined guard on the function that combines them. */
function namesIn(guard: unknown): readonly string[] {
  if (typeof guard === 'string') return [guard];
  if (typeof guard === 'function') {
    const { guards } = guard as { readonly guards?: readonly unknown[] };
    return guards?.flatMap(namesIn) ?? [];
  }
  if (typeof guard !== 'object' || guard === null) return [];
  const { type } = guard as { readonly type?: unknown };
  return typeof type === 'string' ? [type] : [];
}
