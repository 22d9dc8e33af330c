import { type JournalEvent, TERMINAL_TYPES } from './events.ts';
import {
  type Check,
  type Placed,
  perRun,
  type RunView,
  type Violation,
} from './invariants-view.ts';

/** INV-60: `seq` counts up from 1 without a hole and without a repetition. */
export const denseSeq: Check = (entries) =>
  entries.flatMap(({ seq, run_id: runId }, i) => {
    const due = (entries[i - 1]?.seq ?? 0) + 1;
    if (seq === due) return [];
    return [{ invariant: 'INV-60', seq, runId, message: `seq is ${seq} where ${due} is due` }];
  });

/** INV-35, INV-23: a run ends once at most, and nothing of it comes after. */
export const oneTerminal: Check = perRun((run) => {
  const end = run.terminal;
  if (end === undefined) return [];
  return run.events
    .filter(({ seq }) => seq > end.seq)
    .map(({ seq, event }) => {
      const again = TERMINAL_TYPES.has(event.type);
      const message = `${event.type} comes after the run ended at ${end.seq}`;
      return run.violation(again ? 'INV-35' : 'INV-23', seq, message);
    });
});

/** What a run tells while it waits for its session; its claims count already. */
const PROLOGUE: ReadonlySet<string> = new Set([
  'queued',
  'observer_attached',
  'observer_detached',
  'claims_exhausted',
  'liveness_decided',
]);

/** Everything before `started` of a run that had to wait. */
function prologueOf(run: RunView): ReadonlySet<Placed> {
  if (run.events[0]?.event.type !== 'queued') return new Set();
  const started = run.events.findIndex(({ event }) => event.type === 'started');
  const waiting = started < 0 ? run.events : run.events.slice(0, started);
  return new Set(waiting.filter(({ event }) => PROLOGUE.has(event.type)));
}

/** JN-01: `started` is the first entry and the only one of its type; a run cancelled in the queue has none. */
export const startedFirst: Check = perRun((run) => {
  const prologue = prologueOf(run);
  const [first, ...rest] = run.events.filter((placed) => !prologue.has(placed));
  const again = rest
    .filter(({ event }) => event.type === 'started')
    .map(({ seq }) => run.violation('JN-01', seq, 'the run starts a second time'));
  if (first === undefined || first.event.type === 'started') return again;
  const endedInQueue = TERMINAL_TYPES.has(first.event.type);
  if (endedInQueue) return again;
  return [run.violation('JN-01', first.seq, `${first.event.type} comes before started`), ...again];
});

/** INV-18 for tools that start; INV-15 and INV-19 for what the model says; INV-33 for a second stop. */
export const nothingAfterStopping: Check = perRun((run) => {
  const stop = run.first('stopping');
  if (stop === undefined) return [];
  return run.events
    .filter(({ seq, event }) => seq > stop.seq && FORBIDDEN[event.type] !== undefined)
    .map(({ seq, event }) => {
      const message = `${event.type} comes after stopping at ${stop.seq}`;
      return run.violation(FORBIDDEN[event.type] ?? '', seq, message);
    });
});

const FORBIDDEN: Readonly<Partial<Record<JournalEvent['type'], string>>> = {
  tool_start: 'INV-18',
  text_delta: 'INV-15',
  reasoning: 'INV-15',
  stopping: 'INV-33',
};

/** INV-17: each obligation that was asked is confirmed or abandoned, once, before the run ends. */
export const obligationsClosed: Check = perRun((run) => {
  const open = new Map<string, number>();
  const violations: Violation[] = [];
  for (const { seq, event } of run.of('obligation')) {
    const key = `${event.what} ${event.id}`;
    if (event.state === 'asked') {
      if (open.has(key)) violations.push(run.violation('INV-17', seq, `${key} is asked twice`));
      open.set(key, seq);
    } else if (!open.delete(key)) {
      const message = `${key} is ${event.state} without having been asked`;
      violations.push(run.violation('INV-17', seq, message));
    }
  }
  return run.terminal === undefined ? violations : [...violations, ...leftOpen(run, open)];
});

function leftOpen(run: RunView, open: ReadonlyMap<string, number>): Violation[] {
  return [...open].map(([key, seq]) => {
    return run.violation('INV-17', seq, `${key} is neither confirmed nor abandoned`);
  });
}

/** The way to `cancelled{unclaimed}`, less the obligations, which may be any number. */
const DISCONNECT = ['observer_detached', 'claims_exhausted', 'liveness_decided', 'stopping'];

/**
 * JN-02: a run that ends unclaimed tells how, in this order and with nothing else of its lifecycle in
 * between: the last observer left, the claims were exhausted, the policy was applied, the run was
 * stopping, each obligation, the end. `stopping` may be missing when there was no obligation.
 */
export const disconnectReadsInOrder: Check = perRun((run) => {
  const end = run.first('cancelled');
  if (end?.event.reason !== 'unclaimed') return [];
  const lifecycle = run.of(...LIFECYCLE).filter(({ seq }) => seq < end.seq);
  const story = lifecycle.filter(({ event }) => !isBeside(run, event)).slice(-4);
  const read = story.map(({ event }) => event.type);
  const stopped = read.at(-1) === 'stopping';
  const due = stopped ? DISCONNECT : DISCONNECT.slice(0, -1);
  const tail = read.slice(-due.length);
  if (tail.join() !== due.join()) return [wrongStory(run, end.seq, tail)];
  return [...wrongDecision(run, story), ...strayObligations(run, story, stopped)];
});

/** A run that waited for its session may begin inside the grace window. */
function isBeside(run: RunView, { type }: JournalEvent): boolean {
  return type === 'obligation' || (type === 'started' && run.first('queued') !== undefined);
}

const LIFECYCLE = [
  'started',
  'observer_attached',
  'observer_detached',
  'claims_exhausted',
  'liveness_decided',
  'stopping',
  'obligation',
] as const;

const wrongStory = (run: RunView, seq: number, read: readonly string[]): Violation =>
  run.violation('JN-02', seq, `the run ends unclaimed after ${read.join(', ') || 'nothing'}`);

function wrongDecision(run: RunView, story: readonly Placed[]): Violation[] {
  return story.flatMap(({ seq, event }) => {
    // A run that came to no checkpoint in time is cancelled though its policy was to park.
    if (event.type === 'liveness_decided' && event.policy === 'continue') {
      return [run.violation('JN-02', seq, `the policy ${event.policy} does not cancel a run`)];
    }
    if (event.type === 'stopping' && event.cause !== 'unclaimed') {
      return [run.violation('INV-33', seq, `the run stops for ${event.cause}, ends unclaimed`)];
    }
    return [];
  });
}

/** Obligations of this stop come after `stopping`; without one there is none. */
function strayObligations(run: RunView, story: readonly Placed[], stopped: boolean): Violation[] {
  const from = story.at(stopped ? -4 : -3)?.seq ?? 0;
  const stop = stopped ? (story.at(-1)?.seq ?? 0) : Number.POSITIVE_INFINITY;
  return run
    .of('obligation')
    .filter(({ seq }) => seq > from && seq < stop)
    .map(({ seq }) => run.violation('JN-02', seq, 'an obligation comes before stopping'));
}
