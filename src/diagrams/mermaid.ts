import { canRest, type ChartState, type ChartTransition, statesOf } from './model.ts';

/**
 * Renders a chart as Mermaid's `stateDiagram-v2`. What a state does without being left, invokes and
 * promises by tag is written inside it. Mermaid cannot draw an arrow from a state to one inside it,
 * so a transition that a parent has for all its states starts at a box called *any state*.
 */
export function toMermaid(chart: ChartState): string {
  const renderer = new Renderer(chart);
  return `${['stateDiagram-v2', ...renderer.inside(chart, '  ')].join('\n')}\n`;
}

class Renderer {
  /** Arrows by the innermost state around both their ends, which is where Mermaid wants them. */
  readonly #arrows = new Map<string, string[]>();
  readonly #parents = new Map<string, ChartState>();
  readonly #root: ChartState;

  constructor(chart: ChartState) {
    this.#root = chart;
    const states = statesOf(chart);
    for (const state of states)
      for (const child of state.states) this.#parents.set(child.id, state);
    for (const state of states)
      for (const transition of state.transitions) this.#addArrow(state, transition);
  }

  inside(state: ChartState, indent: string): string[] {
    const lines: string[] = [];
    if (state.initial) lines.push(`[*] --> ${nameOf(state.initial)}`);
    lines.push(...this.#anyState(state));
    state.states.forEach((child, index) => {
      if (index > 0 && state.kind === 'parallel') lines.push('--');
      lines.push(...this.#state(child));
    });
    lines.push(...(this.#arrows.get(state.id) ?? []));
    for (const child of state.states) {
      if (child.kind === 'final') lines.push(`${nameOf(child.id)} --> [*]`);
    }
    return lines.map((line) => indent + line);
  }

  #state(state: ChartState): string[] {
    const name = nameOf(state.id);
    const title = `state "${state.name}" as ${name}`;
    if (state.states.length > 0) return [`${title} {`, ...this.inside(state, '  '), '}'];
    return [title, ...notesOf(state).map((note) => `${name} : ${note}`)];
  }

  #anyState(state: ChartState): string[] {
    if (state.states.length === 0) return [];
    const notes = notesOf(state);
    if (notes.length === 0 && !state.transitions.some((t) => this.#isInward(state, t))) return [];
    const name = anyOf(state.id);
    return [`state "any state" as ${name}`, ...notes.map((note) => `${name} : ${note}`)];
  }

  #addArrow(state: ChartState, transition: ChartTransition): void {
    for (const target of transition.targets) {
      const inward = this.#isInward(state, transition);
      const from = inward ? anyOf(state.id) : nameOf(state.id);
      const home = inward ? state.id : this.#homeOf(state.id, target);
      const arrow = `${from} --> ${nameOf(target)} : ${labelOf(transition)}`;
      this.#arrows.set(home, [...(this.#arrows.get(home) ?? []), arrow]);
    }
  }

  #isInward(state: ChartState, transition: ChartTransition): boolean {
    return transition.targets.some(
      (target) => target !== state.id && this.#isWithin(target, state.id),
    );
  }

  #isWithin(id: string, around: string): boolean {
    if (id === around) return true;
    const parent = this.#parents.get(id);
    return parent !== undefined && this.#isWithin(parent.id, around);
  }

  #homeOf(source: string, target: string): string {
    let home = this.#parents.get(source) ?? this.#root;
    while (!this.#isWithin(target, home.id) || home.id === target) {
      const parent = this.#parents.get(home.id);
      if (parent === undefined) break;
      home = parent;
    }
    return home.id;
  }
}

/** What is true of a state while it lasts, a line each. */
function notesOf(state: ChartState): string[] {
  const stays = state.transitions.filter(({ targets }) => targets.length === 0);
  return [
    ...state.tags.map((tag) => `tag ${tag}`),
    ...state.invokes.map(({ id, src }) =>
      id === src ? `invokes ${src}` : `invokes ${src} as ${id}`,
    ),
    ...state.entry.map((action) => `entry / ${action}`),
    ...state.exit.map((action) => `exit / ${action}`),
    ...stays.map((transition) => `${labelOf(transition)}${actionsOf(transition)}`),
    ...(canRest(state) || state.kind === 'final' ? [] : ['passed through at once']),
  ].map(plain);
}

function labelOf({ on, guard }: ChartTransition): string {
  return plain(guard === undefined ? on : `${on} [${guard}]`);
}

const actionsOf = ({ actions }: ChartTransition): string =>
  actions.length > 0 ? ` / ${actions.join(', ')}` : '';

/** Mermaid ends a line at `;` and takes `#` and braces for its own. */
const plain = (text: string): string => text.replace(/[;#{}]/g, ' ').replaceAll(':', ' ');

const nameOf = (id: string): string => id.replace(/[^A-Za-z0-9]/g, '_');

const anyOf = (id: string): string => `${nameOf(id)}__any`;
