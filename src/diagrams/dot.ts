import { canRest, type ChartState, type ChartTransition, statesOf } from './model.ts';

/**
 * Renders a chart as Graphviz DOT: a box a state, a frame around the states of a compound or
 * parallel one. What a state promises by tag, invokes, does on entry and handles without being left
 * is written in its box; of a frame, in the frame's small box *any state*, where the transitions
 * start that a parent has for all its states.
 */
export function toDot(chart: ChartState): string {
  const drawing = new Drawing(chart);
  return `${['digraph {', ...HEAD, ...drawing.inside(chart, 0), ...drawing.edges(), '}'].join('\n')}\n`;
}

/** The widest of the fonts Graphviz has metrics for, so that text fits whatever a viewer has. */
const FONT = 'fontname="Verdana"';

const HEAD = [
  `graph [${FONT} fontsize=12 compound=true rankdir=TB ranksep=0.45 nodesep=0.35 pad=0.2 bgcolor=white]`,
  `node [${FONT} fontsize=12 shape=box style="rounded,filled" fillcolor="#f4f7fb" color="#5b6b7f" fontcolor="#1f2933" margin="0.12,0.06"]`,
  `edge [${FONT} fontsize=10 arrowsize=0.7]`,
];

const EDGE_COLOURS: Readonly<Record<ChartTransition['kind'], string>> = {
  event: '#33506e',
  after: '#9a5b00',
  done: '#1b6e43',
  error: '#b3261e',
  always: '#6b4fbb',
};

const FRAME_FILLS = ['#fbfcfe', '#eef3f9', '#e2eaf4'];

class Drawing {
  readonly #states: ReadonlyMap<string, ChartState>;
  readonly #parents = new Map<string, ChartState>();

  constructor(chart: ChartState) {
    const states = statesOf(chart);
    this.#states = new Map(states.map((state) => [state.id, state]));
    for (const state of states)
      for (const child of state.states) this.#parents.set(child.id, state);
  }

  inside(state: ChartState, depth: number): string[] {
    const start = state.initial ? [`${quote(startOf(state.id))} ${START_STYLE}`] : [];
    const any = this.#needsAny(state) ? [`${quote(anyOf(state.id))} ${anyStyle(state)}`] : [];
    return [...start, ...any, ...state.states.flatMap((child) => this.#state(child, depth))];
  }

  /** Arrows with the same ends and of the same kind are drawn as one, their labels below another. */
  edges(): string[] {
    const starts = [...this.#states.values()].flatMap((state) => this.#startEdge(state));
    const labels = new Map<string, string[]>();
    for (const state of this.#states.values()) {
      for (const transition of state.transitions) {
        for (const target of transition.targets) {
          const edge = this.#edge(state, transition, target);
          labels.set(edge, [...(labels.get(edge) ?? []), ...edgeLines(transition)]);
        }
      }
    }
    const merged = [...labels].map(([edge, lines]) => edge.replace(LABEL, () => table(lines)));
    return [...starts, ...merged];
  }

  #state(state: ChartState, depth: number): string[] {
    if (state.states.length === 0) return [`${quote(state.id)} ${boxStyle(state)}`];
    const inRegion = this.#parents.get(state.id)?.kind === 'parallel';
    const fill = FRAME_FILLS[depth % FRAME_FILLS.length];
    return [
      `subgraph ${quote(frameOf(state.id))} {`,
      `graph [${idOf(state)} label=${frameLabel(state)} labeljust=l style="rounded,filled${inRegion ? ',dashed' : ''}" fillcolor="${fill}" color="#8697ab" margin=12]`,
      ...this.inside(state, depth + 1),
      '}',
    ];
  }

  #startEdge(state: ChartState): string[] {
    if (state.initial === undefined) return [];
    const head = this.#firstBox(state.initial);
    const attributes = [
      `color="${EDGE_COLOURS.event}"`,
      ...this.#clip('lhead', state.initial, state.id),
    ];
    return [`${quote(startOf(state.id))} -> ${quote(head)} [${attributes.join(' ')}]`];
  }

  #edge(state: ChartState, transition: ChartTransition, target: string): string {
    const inward = this.#isWithin(target, state.id) && state.states.length > 0;
    const tail = inward ? anyOf(state.id) : this.#lastBox(state);
    const colour = EDGE_COLOURS[transition.kind];
    const attributes = [
      `label=${LABEL}`,
      `color="${colour}" fontcolor="${colour}"`,
      ...(transition.kind === 'always' ? ['style=dashed'] : []),
      ...(inward ? [] : this.#clip('ltail', state.id, target)),
      ...this.#clip('lhead', target, state.id),
    ];
    return `${quote(tail)} -> ${quote(this.#firstBox(target))} [${attributes.join(' ')}]`;
  }

  /** Ends an arrow at a frame instead of the box inside it, unless its other end is inside too. */
  #clip(side: 'lhead' | 'ltail', id: string, other: string): string[] {
    const isFrame = (this.#states.get(id)?.states.length ?? 0) > 0;
    return isFrame && !this.#isWithin(other, id) ? [`${side}=${quote(frameOf(id))}`] : [];
  }

  #firstBox(id: string): string {
    const state = this.#states.get(id);
    const first = state?.initial ?? state?.states[0]?.id;
    return first === undefined ? id : this.#firstBox(first);
  }

  #lastBox(state: ChartState): string {
    const last = state.states.findLast((child) => child.kind !== 'final') ?? state.states.at(-1);
    return last === undefined ? state.id : this.#lastBox(last);
  }

  #needsAny(state: ChartState): boolean {
    if (state.states.length === 0) return false;
    const inward = ({ targets }: ChartTransition) =>
      targets.length === 0 || targets.some((target) => this.#isWithin(target, state.id));
    return state.transitions.some(inward);
  }

  #isWithin(id: string, around: string): boolean {
    if (id === around) return true;
    const parent = this.#parents.get(id);
    return parent !== undefined && this.#isWithin(parent.id, around);
  }
}

/** Stands for an arrow's label until all that share the arrow are known. */
const LABEL = '<label>';

const START_STYLE =
  '[shape=circle label="" width=0.13 fixedsize=true style=filled fillcolor="#1f2933" color="#1f2933"]';

function boxStyle(state: ChartState): string {
  const lines = [...marks(state), ...small([...actionLines(state), ...handledLines(state)])];
  const label = lines.length > 0 ? table([bold(state.name), ...lines]) : `<${bold(state.name)}>`;
  const id = idOf(state);
  if (state.kind === 'final')
    return `[${id} label=${label} fillcolor="#e7f3ec" color="#1b6e43" peripheries=2]`;
  if (!canRest(state))
    return `[${id} label=${label} fillcolor="#f3effc" color="#6b4fbb" style="rounded,filled,dashed"]`;
  const works = state.invokes.length > 0;
  return `[${id} label=${label}${works ? ' fillcolor="#e3eefb"' : ''}]`;
}

function anyStyle(state: ChartState): string {
  const label = table(['<I>any state</I>', ...small(handledLines(state))]);
  return `[label=${label} style="rounded,dotted" fontsize=11]`;
}

const frameLabel = (state: ChartState): string =>
  table([bold(state.name), ...marks(state), ...small(actionLines(state))]);

/** Tags and invoked children: what a reader looks for first. */
function marks({ tags, invokes }: ChartState): string[] {
  const names = invokes.map(({ id, src }) => (id === src ? src : `${src} as ${id}`));
  return [
    ...(tags.length > 0 ? [font(tags.map((tag) => `#${tag}`).join(' '), '#33506e')] : []),
    ...names.map((name) => font(`invokes ${name}`, '#1b6e43')),
  ];
}

function actionLines({ entry, exit }: ChartState): string[] {
  return [...entry.map((action) => `entry: ${action}`), ...exit.map((action) => `exit: ${action}`)];
}

/** What a state handles without being left. */
function handledLines({ transitions }: ChartState): string[] {
  const stays = transitions.filter(({ targets }) => targets.length === 0);
  return stays.map(({ on, guard }) => `on ${on}${guard === undefined ? '' : ` [${guard}]`}`);
}

function edgeLines({ on, guard }: ChartTransition): string[] {
  return [escape(on), ...(guard === undefined ? [] : [`<I>${escape(`[${guard}]`)}</I>`])];
}

const small = (lines: readonly string[]): string[] => lines.map((line) => font(line, '#5b6b7f'));

const font = (text: string, colour: string): string =>
  `<FONT POINT-SIZE="9" COLOR="${colour}">${escape(text)}</FONT>`;

const bold = (text: string): string => `<B>${escape(text)}</B>`;

const table = (rows: readonly string[]): string =>
  `<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">${rows
    .map((row) => `<TR><TD ALIGN="LEFT">${row}</TD></TR>`)
    .join('')}</TABLE>>`;

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const quote = (id: string): string => `"${id.replaceAll('"', '\\"')}"`;

/** A drawn state can be found again, to be marked: the picture has it under its own id. */
const idOf = ({ id }: ChartState): string => `id=${quote(id)}`;

const frameOf = (id: string): string => `cluster_${id}`;

const startOf = (id: string): string => `${id}/start`;

const anyOf = (id: string): string => `${id}/any`;
