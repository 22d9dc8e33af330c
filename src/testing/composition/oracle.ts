import type { CompositionOptions, CompositionView } from './contract.ts';
import type { RunningComposition } from './running.ts';
import { actsIn } from './stimuli.ts';

export type Oracle = Pick<CompositionOptions<never>, 'invariants' | 'end' | 'bounded' | 'children'>;

/** A history after which an invariant does not hold, a chart has an error, or something is left. */
export class CompositionError extends Error {
  override readonly name = 'CompositionError';
  /** The labels of the stimuli, in order. */
  readonly history: readonly string[];

  constructor(what: string, history: readonly string[], options?: ErrorOptions) {
    const steps = history.map((label, index) => `  ${index + 1}. ${label}`);
    super([what, ...(steps.length === 0 ? ['  at the start'] : steps)].join('\n'), options);
    this.history = history;
  }
}

/** The longest way to rest; a chart that takes more steps is taken for one that never ends. */
const STEPS_TO_REST_MAX = 1_000;

export function assertHolds(
  running: RunningComposition,
  { invariants }: Oracle,
  history: readonly string[],
): void {
  const { view } = running;
  const cause = running.error ?? view.charts.map(({ snapshot }) => snapshot.error).find(Boolean);
  if (cause !== undefined) throw new CompositionError('A chart has an error.', history, { cause });
  for (const { name, violation } of invariants) {
    const wrong = violation(view);
    if (wrong !== undefined) throw new CompositionError(`${name} But: ${wrong}`, history);
  }
}

/** Sends what must end the outermost chart, lets nothing answer any more, and looks what is left. */
export function driveToRest(
  running: RunningComposition,
  oracle: Oracle,
  history: readonly string[],
): void {
  const way = [...history];
  for (const event of oracle.end) {
    if (running.view.parent.status !== 'active') break;
    running.apply({ send: event });
    way.push(`${event.type}, to end it`);
    assertHolds(running, oracle, way);
  }
  while (running.view.parent.status === 'active' && way.length < STEPS_TO_REST_MAX) {
    const step = nextToRest(running, oracle);
    if (step === undefined) break;
    way.push(step);
    assertHolds(running, oracle, way);
  }
  const left = leftIn(running.view);
  if (left.length > 0) throw new CompositionError(`Left at the end: ${left.join(', ')}.`, way);
}

/** Timers come first; a fake that is bounded ends when there is none. */
function nextToRest(running: RunningComposition, oracle: Oracle): string | undefined {
  const fired = running.fireNext();
  if (fired !== undefined) return `${fired}, the next timer`;
  const bounded = new Set(oracle.bounded);
  const [act] = actsIn(running.view, oracle, ({ src }) => bounded.has(src));
  if (act === undefined) return undefined;
  running.apply(act.act);
  return `${act.label}, to end it`;
}

function leftIn(view: CompositionView): string[] {
  const charts = view.charts.filter(({ snapshot }) => snapshot.status === 'active');
  const fakes = view.fakes.filter(({ state }) => state === 'running');
  return [
    ...charts.map(({ path, id, snapshot }) => `${path || id} in ${JSON.stringify(snapshot.value)}`),
    ...fakes.map(({ path }) => `the child ${path}`),
    ...view.timers.map(({ path, type }) => `the timer ${type} of ${path || 'the outermost chart'}`),
  ];
}
