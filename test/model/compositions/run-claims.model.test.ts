import type { AnyMachineSnapshot } from 'xstate';
import type { RunInput } from '../../../machines/run.contract.ts';
import { runMachine } from '../../../machines/run.machine.ts';
import type { Liveness, Observer } from '../../../machines/vocabulary.ts';
import type {
  CompositionInvariant,
  CompositionOptions,
  CompositionView,
} from '../../../src/testing/composition/contract.ts';
import { EXTERNAL, inShort, LIMITS, SHUTDOWN, toolCall } from '../samples.ts';
import { describeComposition } from './composition-suite.ts';
import {
  atMost,
  contextOf,
  factsOf,
  keyOfRun,
  OF_EVERY_RUN,
  runningOf,
  SETTLING,
  turns,
} from './run-samples.ts';

const ANN: Observer = { id: 'ann', presence: true };
const BOB: Observer = { id: 'bob', presence: false };

const idsOf = (observers: readonly Observer[]): string[] => observers.map(({ id }) => id).sort();

/** Who should hold the run, by what was sent while its claims were open. */
function heldBy({ history, parent }: CompositionView): string[] {
  const held = new Set<string>();
  const { firstClaim } = parent.context as RunInput;
  for (const one of history) {
    if (one.kind === 'started' && one.src === 'claims' && firstClaim) held.add(firstClaim.id);
    if (one.kind !== 'sent') continue;
    if (one.event.type === 'claim.attach') held.add(one.event['observer'].id);
    if (one.event.type === 'claim.detach') held.delete(one.event['observerId']);
  }
  return [...held].sort();
}

const decisions = (view: CompositionView): string[] =>
  factsOf(view, 'liveness.decided').map(({ fact }) => fact['policy']);

const isLive = ({ parent }: CompositionView): boolean => parent.matches('live');

const INVARIANTS: readonly CompositionInvariant[] = [
  ...OF_EVERY_RUN,
  {
    name: 'Whoever came and has not left holds the run, and nobody else.',
    violation: (view) => {
      const [claims] = runningOf(view, 'claims');
      if (claims === undefined) return undefined;
      const held = idsOf(claims.snapshot.context.claims);
      const [is, should] = [held.join('+'), heldBy(view).join('+')];
      return is === should ? undefined : `it is held by "${is}" and not by "${should}"`;
    },
  },
  {
    name: 'A live run knows whether its claims are decided for good.',
    violation: (view) => {
      if (!isLive(view)) return undefined;
      const open = runningOf(view, 'claims').length === 1;
      const { claimsDecided } = contextOf(view);
      return claimsDecided === !open ? undefined : `claims open ${open}, decided ${claimsDecided}`;
    },
  },
  {
    name: 'A run that nobody holds and that is to be cancelled is not live, unless it is parking.',
    violation: (view) => {
      if (!decisions(view).includes('cancel') || !isLive(view)) return undefined;
      return contextOf(view).parking === null ? 'it goes on' : undefined;
    },
  },
  {
    name: 'A run that nobody holds and that is to be parked is parking while it is live.',
    violation: (view) => {
      if (!decisions(view).includes('park') || !isLive(view)) return undefined;
      return contextOf(view).parking === null ? 'it goes on' : undefined;
    },
  },
  {
    name: 'No run ends for want of a reader unless its claims said so.',
    violation: (view) => {
      const causes = [...factsOf(view, 'run.stopping'), ...factsOf(view, 'run.parking')]
        .map(({ fact }) => fact['cause'].kind)
        .filter((kind) => kind === 'unclaimed');
      const said = decisions(view).filter((policy) => policy !== 'continue');
      return causes.length > 0 && said.length === 0 ? 'nobody decided that' : undefined;
    },
  },
  {
    name: 'A run that is parking for another cause does not end for want of a reader.',
    violation: (view) => {
      const [parking] = factsOf(view, 'run.parking');
      const [stopping] = factsOf(view, 'run.stopping');
      if (parking === undefined || stopping === undefined) return undefined;
      const [why, end] = [parking, stopping].map(({ fact }) => fact['cause'].kind as string);
      return end === 'unclaimed' && why !== end ? `it was parking for ${why}` : undefined;
    },
  },
  {
    name: 'The claims of a run live no longer than its work.',
    violation: (view) =>
      !isLive(view) && runningOf(view, 'claims').length > 0 ? 'they are open' : undefined,
  },
];

const options = (
  liveness: Liveness,
  firstClaim: Observer | null,
  more: CompositionOptions<typeof runMachine>['commands'] = {},
): CompositionOptions<typeof runMachine> => ({
  input: { runId: 'run-1', liveness, limits: LIMITS, firstClaim },
  real: ['claims'],
  fact: inShort,
  invariants: INVARIANTS,
  end: [{ type: 'run.begin' }, { type: 'run.stop', cause: EXTERNAL } as never],
  bounded: ['toolCall'],
  shows: {
    toolCall: ({ call }: { call: object }) => ({ hasTag: () => false, context: { call } }),
  },
  commands: {
    'run.begin': { '': {} },
    'run.stop': { external: atMost(1, 'run.stop', { cause: EXTERNAL }) },
    'claim.attach': { ann: { observer: ANN }, bob: { observer: BOB } },
    'claim.detach': {
      ann: { observerId: 'ann', because: 'released' },
      bob: { observerId: 'bob', because: 'expired' },
    },
    ...more,
  },
  children: {
    ...turns([toolCall('a')]),
    ...SETTLING,
    toolCall: { '': { done: { id: 'a', status: 'completed' } } },
    watchDeadline: {
      'is up': (_view, { input }) => ({
        tell: { type: 'deadline.reached', ...(input as object), afterMs: 1_000 } as never,
      }),
    },
  },
  key: {
    run: keyOfRun,
    claims: ({ context }: AnyMachineSnapshot) => context.claims.map(({ id }: Observer) => id),
  },
  // A history that has stopped is told apart from one that may still stop.
  keyOfWhole: (view) =>
    view.history.filter((one) => one.kind === 'sent' && one.event.type === 'run.stop').length,
});

const PARKING = {
  'run.park': { 'by hand': atMost(1, 'run.park', { cause: EXTERNAL }) },
  'run.queue': { '': {} },
  'run.stop': {
    'shutdown in 4 s': atMost(1, 'run.stop', { cause: SHUTDOWN, graceMs: 4_000 }),
  },
};

describeComposition(
  'run-claims',
  runMachine,
  {
    'cancel at once': options({ policy: 'cancel', graceMs: 0 }, ANN),
    'cancel after a grace, parked by hand': options(
      { policy: 'cancel', graceMs: 15_000 },
      ANN,
      PARKING,
    ),
    'continue without a first claim': options({ policy: 'continue', graceMs: 0 }, null),
    'park after a grace': options({ policy: 'park', graceMs: 30_000 }, ANN, PARKING),
  },
  { claims: [] },
);
