import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { labelOfEvent } from '../../labels.ts';
import type { PathOptions } from '../../paths.ts';
import type { AgentName } from '../kit/agents.ts';
import { type Seen, seenGraph } from './graph.ts';
import { type Word, wordsOf } from './words.ts';

/** How the run that a path is about begins. */
export interface Beginning {
  readonly agent: AgentName;
  /** A chat stream is claimed by its reader; a start is claimed by nobody. `none`: the steps start runs. */
  readonly by: 'start' | 'chat' | 'none';
  readonly liveness?: {
    readonly policy: 'cancel' | 'continue' | 'park';
    readonly grace_ms: number;
  };
  /** What the model does before the first step: it waits, begins to speak, or calls this tool. */
  readonly model: 'waits' | 'speaks' | { readonly calls: string };
}

/** How the run has ended when all steps are taken and everything that was waiting has gone on. */
export interface Ending {
  /** As `wordOf` says a terminal entry; undefined where it is of no account. */
  readonly terminal?: string;
  /** Requests that the model has had. */
  readonly modelCalls?: number;
}

interface ScenarioSpec<Machine extends AnyStateMachine> {
  readonly feature: string;
  readonly name: string;
  readonly machine: Machine;
  readonly options: PathOptions<Machine>;
  readonly begins: Beginning;
  /** By the label of an event, how a client sees it; what is not listed cannot be caused from outside. */
  readonly sees:
    | Readonly<Record<string, string>>
    | ((event: EventObject, before: AnyMachineSnapshot) => Seen);
  /** The kinds of entries that the chart's facts are compared with. */
  readonly tells: readonly string[];
  readonly endsAnywhere?: true;
  readonly ending: (end: AnyMachineSnapshot) => Ending;
}

export interface Expected extends Ending {
  readonly facts: readonly string[];
}

/** One way through a chart as a client sees it. */
export interface ClientPath {
  readonly feature: string;
  readonly scenario: string;
  readonly begins: Beginning;
  readonly steps: readonly string[];
  readonly tells: readonly string[];
  /** Any of these is right. */
  readonly expected: readonly Expected[];
}

export interface Scenario {
  readonly feature: string;
  readonly name: string;
  readonly chartEdges: number;
  readonly paths: readonly ClientPath[];
}

/** In a table of `sees`: the server does it by itself. */
export const ITSELF = 'by itself';

/** Steps that take seconds, or end a path in an odd way, are avoided where there is a choice. */
const cost = (step: string): number => (/pass|late|silent|cancels|parks|fails/.test(step) ? 5 : 1);

/** Walks the chart and projects its paths to what a client can do and see. */
export function scenarioOf<Machine extends AnyStateMachine>(spec: ScenarioSpec<Machine>): Scenario {
  const { feature, name, machine, options, sees, endsAnywhere } = spec;
  const see = typeof sees === 'function' ? sees : (event: EventObject) => inTable(sees, event);
  const graph = seenGraph(machine, options, see);
  const words = wordsOf(graph, { endsAnywhere: endsAnywhere === true, cost });
  const paths = words.map((word) => pathOf(spec, word));
  return { feature, name, chartEdges: graph.chartEdges, paths };
}

function inTable(table: Readonly<Record<string, string>>, event: EventObject): Seen {
  const step = table[labelOfEvent(event)];
  if (step === undefined) return 'never';
  return step === ITSELF ? ITSELF : { step };
}

function pathOf<Machine extends AnyStateMachine>(
  { feature, name, begins, tells, ending }: ScenarioSpec<Machine>,
  { steps, told }: Word,
): ClientPath {
  const expected = told.map(({ facts, end }) => ({ facts, ...ending(end) }));
  return { feature, scenario: name, begins, steps, tells, expected };
}
