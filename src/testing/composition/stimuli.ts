import { type AnyEventObject, getNextTransitions } from 'xstate';
import { labelOfState, labelOfType } from '../labels.ts';
import type { PortCall } from '../ports.ts';
import type { ChildAct, CompositionOptions, CompositionView } from './contract.ts';
import type { Act } from './running.ts';

/** An act with the words for it. Two stimuli of one state never share a label. */
export interface Stimulus {
  readonly label: string;
  readonly act: Act;
}

// Of a composition's options no more is needed here than these, whatever its machine.
type Spec = Pick<CompositionOptions<never>, 'commands' | 'children' | 'key' | 'keyOfWhole'>;

/** Everything that can happen now: commands, acts of fake children and armed timers. */
export function stimuliIn(view: CompositionView, spec: Spec): Stimulus[] {
  if (view.parent.status !== 'active') return [];
  const all = [...commandsIn(view, spec), ...actsIn(view, spec), ...timersIn(view)];
  const seen = new Map<string, number>();
  return all.map(({ label, act }) => {
    const nth = (seen.get(label) ?? 0) + 1;
    seen.set(label, nth);
    return { label: nth === 1 ? label : `${label} #${nth}`, act };
  });
}

/** A state in words: the charts that run, the outermost first. */
export function labelOf({ charts }: CompositionView, { key }: Spec): string {
  return charts
    .filter(({ path, snapshot }) => path === '' || snapshot.status === 'active')
    .map(({ path, id, snapshot }) => {
      const label = labelOfState(snapshot.value, key?.[id]?.(snapshot));
      return path === '' ? label : `${path}: ${label}`;
    })
    .join(' | ');
}

/** What tells a composite state from another. */
export function keyOf(view: CompositionView, spec: Spec): string {
  const timers = view.timers.map(({ path, type }) => `${path} ${type}`).sort();
  const fakes = view.fakes.filter(({ state }) => state === 'running').map(({ path }) => path);
  const own = spec.keyOfWhole?.(view) ?? null;
  return JSON.stringify([view.parent.status, labelOf(view, spec), timers, fakes.sort(), own]);
}

function commandsIn(view: CompositionView, { commands }: Spec): Stimulus[] {
  const types = new Set(getNextTransitions(view.parent).map(({ eventType }) => eventType));
  return Object.entries(commands)
    .filter(([type]) => types.has(type))
    .flatMap(([type, variants]) =>
      Object.entries(variants).flatMap(([name, when]) =>
        possible(typeof when === 'function' ? when(view) : when).map((fields) => ({
          label: named(type, name),
          act: { send: { type, ...fields } as AnyEventObject },
        })),
      ),
    );
}

/** What the running fakes may do, of those that `which` picks. */
export function actsIn(
  view: CompositionView,
  { children }: Pick<Spec, 'children'>,
  which: (call: PortCall) => boolean = () => true,
): Stimulus[] {
  const running = view.fakes.filter((call) => call.state === 'running' && which(call));
  return running.flatMap((call) =>
    Object.entries(children[call.src] ?? {}).flatMap(([name, when]) =>
      possible<ChildAct>(typeof when === 'function' ? when(view, call) : when).map((does) => ({
        label: named(`${verbOf(does)} ${call.path}`, name),
        act: { child: call.path, does },
      })),
    ),
  );
}

const timersIn = (view: CompositionView): Stimulus[] =>
  view.timers.map(({ path, type }) => ({
    label: path === '' ? labelOfType(type) : `${labelOfType(type)} of ${path}`,
    act: { fire: { path, type } },
  }));

/** `Array.isArray` does not narrow readonly arrays. */
const possible = <What>(what: What | readonly What[] | undefined): readonly What[] => {
  if (what === undefined) return [];
  return Array.isArray(what) ? (what as readonly What[]) : [what as What];
};

const named = (what: string, variant: string): string =>
  variant === '' ? what : `${what} (${variant})`;

const verbOf = (act: ChildAct): string => {
  if ('tell' in act) return `${act.tell.type} from`;
  return 'done' in act ? 'done' : 'error' in act ? 'error' : 'snapshot';
};
