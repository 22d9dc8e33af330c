import type { RunChart, RunRecord } from '../handle.ts';
import {
  type ActorState,
  statesAfter,
  type TransitionHistory,
} from '../transitions/transition-log.ts';
import { pathsOf } from '../transitions/words.ts';
import type { LiveRun, RunEntry } from './facts.ts';
import { idsOf, markStates } from './mark-states.ts';

export interface ChartFacts {
  readonly record: RunRecord;
  readonly transitions: TransitionHistory | undefined;
  /** Only while the run lives in this process. */
  readonly live?: LiveRun | undefined;
  /** The entry it is asked for; undefined is now. */
  readonly entry?: Pick<RunEntry, 'seq' | 'at'> | undefined;
  /** The picture of the run's chart, whose states carry their ids. */
  readonly svg: string;
}

/** The charts of a run with what is active now, or was when an entry was written. */
export function chartAt(facts: ChartFacts): RunChart {
  const states = statesOf(facts);
  return {
    run_id: facts.record.run_id,
    seq: facts.entry?.seq ?? null,
    states,
    svg: markStates(facts.svg, idsOf('run', states['run'] ?? [])),
  };
}

type States = Record<string, string[]>;

function statesOf({ record, live, entry, transitions }: ChartFacts): States {
  if (entry !== undefined) return transitions === undefined ? {} : statesAt(transitions, entry);
  if (live !== undefined) return grouped(live.charts);
  // The log ends with the entry that settles the run; what came after that is the same for all.
  return record.end === null ? {} : { run: ['ended'] };
}

function statesAt(history: TransitionHistory, entry: Pick<RunEntry, 'seq' | 'at'>): States {
  const steps = history.steps.findIndex((step) => !isBefore(step, entry));
  const taken = steps === -1 ? history.steps.length : steps;
  return grouped(
    statesAfter(history, taken).map(({ chart, state }: ActorState) => ({
      chart,
      states: pathsOf(state),
    })),
  );
}

/** A step comes before the entries that it makes; without a number its time must do. */
const isBefore = (
  step: { readonly at: number; readonly after: number },
  { seq, at }: Pick<RunEntry, 'seq' | 'at'>,
): boolean => (step.after === 0 ? step.at <= at : step.after < seq);

/** Several tool calls are actors of one chart. */
function grouped(
  charts: readonly { readonly chart: string; readonly states: readonly string[] }[],
) {
  const states: States = {};
  for (const { chart, states: active } of charts) {
    states[chart] = [...(states[chart] ?? []), ...active];
  }
  return states;
}
