import { type Check, perRun, type RunView, runsOf, type Violation } from './invariants-view.ts';

/**
 * JN-04: a run goes on with one that parked before it began, that says so to nobody else, and asks again
 * for each call that was left open there.
 */
export const continuedOnce: Check = (entries) => {
  const runs = new Map(runsOf(entries).map((run) => [run.runId, run]));
  const continuedBy = new Map<string, string>();
  return [...runs.values()].flatMap((run) => {
    const parked = run.continues;
    if (parked === undefined) return [];
    const other = continuedBy.get(parked);
    continuedBy.set(parked, run.runId);
    if (other !== undefined) {
      return [run.violation('JN-04', firstSeq(run), `${parked} is continued by ${other} already`)];
    }
    return continuation(run, parked, runs.get(parked));
  });
};

const firstSeq = (run: RunView): number => run.events[0]?.seq ?? 0;

function continuation(run: RunView, parkedId: string, parked: RunView | undefined): Violation[] {
  const end = parked?.terminal;
  if (parked === undefined || end?.event.type !== 'parked' || end.seq > firstSeq(run)) {
    return [run.violation('JN-04', firstSeq(run), `${parkedId} had not parked before`)];
  }
  const started = run.of('started');
  const renamed = started.filter(({ event }) => event.continues !== parkedId);
  if (started.length === 0) return [];
  // One that has just begun has yet to ask.
  const forgotten = run.terminal === undefined ? [] : forgottenCalls(run, parked);
  return [
    ...renamed.map(({ seq }) => run.violation('JN-04', seq, `it does not name ${parkedId}`)),
    ...forgotten,
  ];
}

function forgottenCalls(run: RunView, parked: RunView): Violation[] {
  const asked = new Set(run.of('tool_requested').map(({ event }) => event.tool_id));
  return openCalls(parked)
    .filter((id) => !asked.has(id))
    .map((id) => run.violation('INV-37', firstSeq(run), `call ${id}, left open, is not asked for`));
}

function openCalls(run: RunView): string[] {
  const ended = new Set(run.of('tool_complete').map(({ event }) => event.tool_id));
  return run
    .of('tool_requested')
    .filter(({ event }) => event.client !== true && !ended.has(event.tool_id))
    .map(({ event }) => event.tool_id);
}

/**
 * INV-39: a run that parks leaves calls open that have not begun, and no others. One that was lost with
 * its process may leave more: those that may be executed again.
 */
export const parkedAtRest: Check = perRun((run) => {
  const end = run.first('parked');
  if (end === undefined || end.event.reason === 'owner_lost') return [];
  const open = new Set(openCalls(run));
  return run
    .of('tool_start')
    .filter(({ event }) => open.has(event.tool_id))
    .map(({ seq, event }) =>
      run.violation('INV-39', seq, `call ${event.tool_id} is at work when the run parks`),
    );
});

/** JN-03: a run that waits says so before anything else, and once. */
export const queuedFirst: Check = perRun((run) =>
  run
    .of('queued')
    .filter(({ seq }) => seq !== firstSeq(run))
    .map(({ seq }) => run.violation('JN-03', seq, 'queued is not the first entry of the run')),
);
