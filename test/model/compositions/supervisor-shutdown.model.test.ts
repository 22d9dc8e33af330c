import type { AnyMachineSnapshot, StateValue } from 'xstate';
import type { ShutdownContext, ShutdownInput } from '../../../machines/shutdown.machine.ts';
import { supervisorMachine } from '../../../machines/supervisor.machine.ts';
import type {
  ChildAct,
  CompositionInvariant,
  CompositionOptions,
  CompositionView,
} from '../../../src/testing/composition/contract.ts';
import type { PortCall } from '../../../src/testing/ports.ts';
import { inShort, LIMITS } from '../samples.ts';
import { describeComposition } from './composition-suite.ts';
import { atMost, factsOf, sentOf, startsOf } from './run-samples.ts';

type Options = CompositionOptions<typeof supervisorMachine>;

const BOUNDS: ShutdownInput = { graceMs: 30_000, drainMs: 5_000, abortMs: 2_000, flushMs: 3_000 };

const SUBMIT = {
  waits: false,
  tenant: { live: 0, max: 0 },
  input: {
    runId: 'run-1',
    liveness: { policy: 'cancel', graceMs: 0 },
    limits: LIMITS,
    firstClaim: null,
  },
};

/** How many runs the fake pool has said are live, each time it said so. */
const loadsTold = ({ history }: CompositionView): number[] =>
  history.flatMap((one) =>
    one.kind === 'acted' && one.path === 'runs' && 'tell' in one.does
      ? [(one.does.tell as unknown as { live: number }).live]
      : [],
  );

const liveIn = (view: CompositionView): number => loadsTold(view).at(-1) ?? 0;

const requestsIn = (view: CompositionView): number =>
  sentOf(view, 'request.begin').length - sentOf(view, 'request.end').length;

const receivedBy = ({ fakes }: CompositionView, type: string): number =>
  fakes.find(({ src }) => src === 'runs')?.received.filter((event) => event.type === type).length ??
  0;

const changedTo = (live: number): ChildAct => ({
  tell: { type: 'pool.changed', pool: 'runs', live } as never,
});

/** The pool says so when a run that it was given has begun. */
const comes = (view: CompositionView): ChildAct | undefined => {
  const told = [0, ...loadsTold(view)];
  const come = told.filter((live, at) => at > 0 && live > (told[at - 1] ?? 0)).length;
  return come < receivedBy(view, 'pool.spawn') ? changedTo(liveIn(view) + 1) : undefined;
};

const goes = (view: CompositionView, _call: PortCall): ChildAct | undefined =>
  liveIn(view) > 0 ? changedTo(liveIn(view) - 1) : undefined;

const shutdownOf = ({ charts }: CompositionView) => charts.find(({ id }) => id === 'shutdown');

const phaseOf = (value: StateValue): string => {
  const phase = typeof value === 'string' ? value : (value as { active: string }).active;
  return phase === 'accepting' ? 'serving' : phase;
};

const crashed = ({ history }: CompositionView): boolean =>
  history.some(
    (one) => one.kind === 'acted' && 'error' in one.does && one.path !== 'shutdown/flushAll',
  );

const INVARIANTS: readonly CompositionInvariant[] = [
  {
    name: 'The supervisor is in the phase that shutdown is in.',
    violation: (view) => {
      const shutdown = shutdownOf(view);
      if (shutdown === undefined || crashed(view)) return undefined;
      const [own, its] = [phaseOf(view.parent.value), phaseOf(shutdown.snapshot.value)];
      return own === its ? undefined : `it is ${own} and shutdown is ${its}`;
    },
  },
  {
    name: 'Shutdown knows how many runs and requests are in flight (SU3).',
    violation: (view) => {
      const shutdown = shutdownOf(view);
      if (shutdown?.snapshot.status !== 'active') return undefined;
      const { inFlight } = shutdown.snapshot.context as ShutdownContext;
      const real = liveIn(view) + requestsIn(view);
      return inFlight === real ? undefined : `it knows of ${inFlight} and there are ${real}`;
    },
  },
  {
    name: 'Draining asks every run to stop, and aborting stops every run, each once (SU4).',
    violation: (view) => {
      const [asked, stopped] = [receivedBy(view, 'pool.tellAll'), receivedBy(view, 'pool.stopAll')];
      const drains = factsOf(view, 'shutdown.draining').length;
      const aborts = factsOf(view, 'shutdown.aborting').length;
      if (asked !== drains) return `it drained ${drains} times and asked ${asked} times`;
      return stopped === aborts
        ? undefined
        : `it aborted ${aborts} times, stopped ${stopped} times`;
    },
  },
  {
    name: 'Each submit is answered once, and never admitted after the first signal (SU1, SD1).',
    violation: (view) => {
      const [admitted, rejected] = [factsOf(view, 'run.admitted'), factsOf(view, 'run.rejected')];
      const submits = sentOf(view, 'run.submit').length;
      if (admitted.length + rejected.length !== submits)
        return `${submits} had not as many answers`;
      const signal = sentOf(view, 'shutdown.signal')[0]?.at ?? Number.POSITIVE_INFINITY;
      return admitted.some(({ at }) => at > signal) ? 'one was admitted' : undefined;
    },
  },
  {
    name: 'Nothing is flushed while something is in flight, unless it was aborted (SD2, SD3).',
    violation: (view) => {
      const shutdown = shutdownOf(view);
      const [flush] = startsOf(view, 'flushAll');
      if (flush === undefined || shutdown === undefined) return undefined;
      const [completed] = factsOf(view, 'shutdown.completed');
      const aborts = factsOf(view, 'shutdown.aborting').length;
      const clean = completed?.fact['cleanShutdown'] as boolean | undefined;
      if (clean !== (aborts === 0)) return `clean ${clean}, aborted ${aborts} times`;
      return undefined;
    },
  },
  {
    name: 'The supervisor ends when shutdown does, and with what it says.',
    violation: (view) => {
      const shutdown = shutdownOf(view);
      if (shutdown === undefined || crashed(view)) return undefined;
      const [own, its] = [view.parent, shutdown.snapshot];
      if (own.status !== its.status) return `it is ${own.status} and shutdown is ${its.status}`;
      const [said, given] = [JSON.stringify(its.output), JSON.stringify(own.output)];
      return said === given ? undefined : `shutdown says ${said}, it says ${given}`;
    },
  },
];

const OPTIONS: Options = {
  input: { runsMax: 1, queueMax: 3, shutdown: BOUNDS, drainToolGraceMs: 4_000 },
  real: ['shutdown'],
  fact: inShort,
  invariants: INVARIANTS,
  end: [{ type: 'supervisor.begin' }, { type: 'shutdown.signal', signal: 'SIGTERM' } as never],
  commands: {
    'supervisor.begin': { '': {} },
    'run.submit': { '': atMost(2, 'run.submit', SUBMIT) },
    'request.begin': { '': atMost(1, 'request.begin', {}) },
    'request.end': { '': (view) => (requestsIn(view) > 0 ? {} : undefined) },
    'shutdown.signal': {
      term: atMost(2, 'shutdown.signal', { signal: 'SIGTERM' }),
      int: atMost(2, 'shutdown.signal', { signal: 'SIGINT' }),
    },
  },
  children: {
    runs: { 'one came': comes, 'one went': goes, bug: { error: new Error('bug') } },
    flushAll: { '': { done: undefined }, broken: { error: new Error('disk') } },
  },
  key: {
    supervisor: ({ context }: AnyMachineSnapshot) => [
      context.live > 0 && `live=${context.live}`,
      context.requests > 0 && `requests=${context.requests}`,
    ],
    shutdown: ({ context }: AnyMachineSnapshot) => [
      context.inFlight,
      context.aborted && 'aborted',
      context.unaborted && 'unaborted',
      context.second,
    ],
  },
  keyOfWhole: (view) => [
    sentOf(view, 'run.submit').length,
    sentOf(view, 'request.begin').length,
    sentOf(view, 'shutdown.signal').length,
    receivedBy(view, 'pool.spawn'),
    loadsTold(view).length,
  ],
};

describeComposition(
  'supervisor-shutdown',
  supervisorMachine,
  { 'one run at a time, one request, two signals': OPTIONS },
  { shutdown: [] },
);
