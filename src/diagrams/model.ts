import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { labelOfType } from '../testing/labels.ts';
import { describeActions, describeGuard } from './describe.ts';

/** A state of a chart in words, ready to be drawn. Ids are unique in the chart. */
export interface ChartState {
  readonly id: string;
  /** The state's own name; the chart's for the root. */
  readonly name: string;
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly tags: readonly string[];
  /** The children that live as long as the state does. */
  readonly invokes: readonly ChartPort[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  /** The state that is entered first; undefined unless compound. */
  readonly initial: string | undefined;
  readonly states: readonly ChartState[];
  /** Its own ones alone, in the order they are tried: events first, then `always`. */
  readonly transitions: readonly ChartTransition[];
}

export interface ChartPort {
  readonly id: string;
  /** The name of the logic, which is a port's or another chart's. */
  readonly src: string;
}

export interface ChartTransition {
  readonly source: string;
  /** Empty when the state is not left. */
  readonly targets: readonly string[];
  readonly on: string;
  readonly kind: 'event' | 'always' | 'after' | 'done' | 'error';
  readonly guard: string | undefined;
  readonly actions: readonly string[];
}

/** Reads a machine's definition. Nothing is run. */
export function describeChart(machine: AnyStateMachine): ChartState {
  return describeState(machine.root);
}

/** A state and all below it, in the order they are written. */
export function statesOf(state: ChartState): ChartState[] {
  return [state, ...state.states.flatMap(statesOf)];
}

/** Every port or chart that is invoked anywhere, by name, without doubles. */
export function portsOf(chart: ChartState): string[] {
  const names = statesOf(chart).flatMap((state) => state.invokes.map(({ src }) => src));
  return [...new Set(names)].sort();
}

/** A state the chart can wait in: neither final nor left at once by an unguarded `always`. */
export function canRest(state: ChartState): boolean {
  const leaves = ({ kind, guard }: ChartTransition) => kind === 'always' && guard === undefined;
  return state.kind !== 'final' && !state.transitions.some(leaves);
}

function describeState(node: AnyStateNode): ChartState {
  const children: AnyStateNode[] = Object.values(node.states);
  const transitions: AnyTransitionDefinition[] = [
    ...[...node.transitions.values()].flat(),
    ...(node.always ?? []),
  ];
  return {
    id: node.id,
    name: node.key,
    kind: node.type,
    tags: node.tags,
    invokes: node.invoke.map(({ id, src }) => ({
      id,
      src: typeof src === 'string' ? src : 'inline',
    })),
    entry: describeActions(node.entry, node.machine),
    exit: describeActions(node.exit, node.machine),
    initial: node.type === 'compound' ? node.initial.target[0]?.id : undefined,
    states: children.map(describeState),
    transitions: transitions.map((transition) => describeTransition(transition, node)),
  };
}

function describeTransition(
  transition: AnyTransitionDefinition,
  node: AnyStateNode,
): ChartTransition {
  const type = String(transition.eventType);
  return {
    source: node.id,
    targets: (transition.target ?? []).map((target: AnyStateNode) => target.id),
    on: labelOfType(type),
    kind: kindOf(type),
    guard: describeGuard(transition.guard),
    actions: describeActions(transition.actions, node.machine),
  };
}

function kindOf(type: string): ChartTransition['kind'] {
  if (type === '') return 'always';
  if (type.startsWith('xstate.after.')) return 'after';
  if (type.startsWith('xstate.error.')) return 'error';
  return type.startsWith('xstate.done.') ? 'done' : 'event';
}
