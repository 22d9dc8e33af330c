import { deepStrictEqual } from 'node:assert/strict';
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { type Coverage, createCoverage } from './coverage.ts';
import { type Drive, startDrive } from './drive.ts';
import { labelOfState } from './labels.ts';
import { type Edge, edgesOf, type PathOptions } from './paths.ts';

/**
 * Drives one edge on a running chart and compares what comes of it with what the walk expects:
 * state, context, output, facts, armed timers and running children. Rejects with an assertion error
 * that shows the difference, and when a timer or a child outlives the chart. Gives the transitions of each
 * step that the edge itself took, by name; none without a coverage.
 */
export async function driveEdge<Machine extends AnyStateMachine>(
  machine: Machine,
  edge: Edge,
  options: PathOptions<Machine> & { readonly coverage?: Coverage },
): Promise<Steps> {
  const drive = startDrive(machine, options);
  for (const event of edge.path) drive.apply(event);
  const before = edge.event ? drive.emitted.length : 0;
  const known = edge.event ? drive.steps.length : 0;
  if (edge.event) drive.apply(edge.event);
  await drive.clock.settle();
  const told = drive.emitted.slice(before).map(options.fact ?? ((fact) => fact.type));
  const steps = drive.steps.slice(known);
  naming(edge, () => {
    deepStrictEqual(actual(drive, told), expected(edge));
    drive.stop();
    deepStrictEqual(left(drive), { timers: [], children: [] });
  });
  return steps;
}

/** A difference says of which edge it is, and which side is which. */
function naming({ from, on, to, path }: Edge, check: () => void): void {
  try {
    check();
  } catch (error) {
    const way = path.map(({ type }) => type).join(', ') || 'the start';
    const where = `${from} on ${on} goes to ${to}, by way of ${way}`;
    if (error instanceof Error) {
      error.message = `${where}: the running chart (actual) and the walk (expected) differ.\n${error.message}`;
    }
    throw error;
  }
}

/** The transitions of each step, by name and in order. */
export type Steps = readonly (readonly string[])[];

/** Drives every edge of a chart, one after the other, and gives what they cover. */
export async function driveEdges<Machine extends AnyStateMachine>(
  machine: Machine,
  options: PathOptions<Machine>,
): Promise<Coverage> {
  const coverage = createCoverage(machine);
  for (const edge of edgesOf(machine, options))
    await driveEdge(machine, edge, { ...options, coverage });
  return coverage;
}

/** The edges as tab-separated text with a heading; equal rows are given once. */
export function transitionTable(edges: readonly Edge[]): string {
  const rows = edges.map(({ from, on, to, effects }) =>
    [from, on, to, effects.join('; ')].join('\t'),
  );
  return `${['from\ton\tto\teffects', ...new Set(rows)].join('\n')}\n`;
}

function actual<Machine extends AnyStateMachine>(drive: Drive<Machine>, told: readonly string[]) {
  const snapshot = drive.actor.getSnapshot() as AnyMachineSnapshot;
  return {
    ...inWords(snapshot),
    error: drive.error,
    facts: told.map((fact) => `emit ${fact}`),
    ...left(drive),
  };
}

function expected({ expected: snapshot, effects, timers, children }: Edge) {
  return {
    ...inWords(snapshot),
    error: snapshot.error,
    facts: effects.filter((effect) => effect.startsWith('emit ')),
    timers: timers.map(({ type, delayMs }) => `${type} ${delayMs}`).sort(),
    children: [...children].sort(),
  };
}

function inWords({ value, status, context, output }: AnyMachineSnapshot) {
  return { state: labelOfState(value), status, context, output };
}

function left<Machine extends AnyStateMachine>({ timers, ports }: Drive<Machine>) {
  const running = ports.calls.filter(({ state }) => state === 'running');
  return {
    timers: timers.map(({ type, delayMs }) => `${type} ${delayMs}`).sort(),
    children: running.map(({ id }) => id).sort(),
  };
}
