import { Expectation } from './approval-expectation.ts';
import type { ExpectedCall } from './approval-expected-call.ts';
import {
  type Answer,
  type CallDeed,
  decisionIn,
  labelOf,
  momentOf,
  type Setting,
  type Stimulus,
  type WorldDeed,
} from './approval-stimuli.ts';

/** Retries that are far enough apart from every other moment of the test. */
const FAILURES_MAX = 3;

/** What can act on a world that stands as expected. A decision that comes too late cannot. */
export function stimuliFor(world: Expectation): readonly Stimulus[] {
  if (world.run === 'over') return [];
  const ofCalls = world.calls.flatMap((call, at) =>
    isTwin(world, at) ? [] : callDeeds(world, call).map((deed) => ({ deed, call: at })),
  );
  return [...ofCalls, ...worldDeeds(world).map((deed) => ({ deed }))];
}

/** What is done to the second of two calls that stand alike comes to what is done to the first. */
function isTwin({ calls }: Expectation, at: number): boolean {
  const [first, second] = calls;
  return at === 1 && JSON.stringify(first) === JSON.stringify(second);
}

function callDeeds(world: Expectation, call: ExpectedCall): readonly CallDeed[] {
  const { process, setting } = world;
  if (process === 'gone') return [];
  const isSigned = setting.route === 'webhook';
  const decisions: CallDeed[] = isSigned ? ['signed yes', 'signed no'] : ['yes', 'no'];
  const { question, failures } = call.approval;
  const isAsked = question === 'out' && world.isOpen(call);
  const retries: CallDeed[] = failures < FAILURES_MAX ? ['hook busy'] : [];
  return [
    ...(world.isOpen(call) ? decisions : []),
    ...(isAsked ? (['hook yes', 'hook no', ...retries, 'hook broken'] as const) : []),
    ...(call.work === 'running' || call.work === 'stopping' ? (['tool returns'] as const) : []),
  ];
}

function worldDeeds(world: Expectation): readonly WorldDeed[] {
  const { now, expiry, process, run, calls } = world;
  if (process === 'gone') return ['reboot'];
  const mayCome: [WorldDeed, boolean][] = [
    ['remind', (momentOf(world, 'remind') ?? 0) < expiry],
    ['almost', now < expiry - 1],
    ['expire', now < expiry],
    ['deafen', !world.isDeaf && calls.some(({ work }) => work === 'running')],
    ['cancel', !world.isStopRecorded],
    ['leave', run === 'live' && world.isClaimed],
    ['park', run === 'live' && world.parking === undefined],
    ['resume', mayResume(world)],
    ['SIGTERM', process === 'up'],
    ['SIGTERM again', process === 'draining'],
    ['reboot', true],
    ['answer', run === 'live' && world.isAnswering],
  ];
  return mayCome.filter(([, may]) => may).map(([deed]) => deed);
}

export function mayResume(world: Expectation): boolean {
  const { run, process, calls } = world;
  return run === 'parked' && process === 'up' && calls.every((call) => !world.isOpen(call));
}

export const expectationAfter = (setting: Setting, sequence: readonly Stimulus[]): Expectation => {
  const world = new Expectation(setting);
  for (const stimulus of sequence) world.apply(stimulus);
  return world;
};

/** What cannot act any more when its turn comes comes to nothing. */
export function applyIfAble(world: Expectation, stimulus: Stimulus): Answer | undefined {
  const isAble = stimuliFor(world).some((one) => labelOf(one) === labelOf(stimulus));
  return isAble || acts(world, stimulus) ? world.apply(stimulus) : undefined;
}

/** Time passes, processes leave and decisions are answered also where nothing is left to do. */
function acts({ process, run }: Expectation, stimulus: Stimulus): boolean {
  const { deed } = stimulus;
  if (takesTime(stimulus) || deed === 'deafen') return true;
  if (stimulus.call !== undefined && decisionIn(stimulus.deed) !== undefined) return true;
  return (deed === 'SIGTERM' && process === 'up') || (deed === 'cancel' && run === 'parked');
}

const PATIENT: ReadonlySet<Stimulus['deed']> = new Set([
  ...(['remind', 'almost', 'expire', 'later', 'reboot'] as const),
]);

/** The same as it is meant now, whatever comes before its turn. */
export function meantNow(world: Expectation, stimulus: Stimulus): Stimulus {
  if (stimulus.call === undefined) {
    const until = momentOf(world, stimulus.deed);
    return { ...stimulus, ...(until !== undefined && { until }) };
  }
  const asked = world.calls[stimulus.call]?.approvals.length ?? 1;
  return { nth: asked - 1, ...stimulus };
}

export const takesTime = ({ deed }: Stimulus): boolean => PATIENT.has(deed);

/** Every sequence of stimuli that act, up to that many of them, the empty one included. */
export function sequencesOf(setting: Setting, depth: number): readonly (readonly Stimulus[])[] {
  const found: (readonly Stimulus[])[] = [];
  const walk = (sequence: readonly Stimulus[]) => {
    found.push(sequence);
    if (sequence.length === depth) return;
    for (const next of stimuliFor(expectationAfter(setting, sequence))) walk([...sequence, next]);
  };
  walk([]);
  return found;
}

const LIVENESS: ReadonlySet<Stimulus['deed']> = new Set(['leave', 'SIGTERM', 'reboot']);

/** Without one of these a run comes to the same whatever its policy is. */
export const heedsPolicy = (sequence: readonly Stimulus[]): boolean =>
  sequence.some(({ deed }) => LIVENESS.has(deed));

/** What brings a world to rest: whoever is asked for something gives it, and time passes. */
export function nextToRest(world: Expectation): Stimulus | undefined {
  const { process, run, calls } = world;
  if (process === 'draining') return { deed: 'later' };
  if (process === 'gone') return { deed: 'reboot' };
  if (run === 'over') return undefined;
  const at = calls.findIndex(({ work }) => work === 'running' || work === 'stopping');
  if (at !== -1) return { deed: 'tool returns', call: at };
  if (run === 'live' && world.isAnswering) return { deed: 'answer' };
  if (calls.some((call) => world.isOpen(call))) return { deed: 'later' };
  return mayResume(world) ? { deed: 'resume' } : undefined;
}

export const textOf = (sequence: readonly Stimulus[]): string =>
  sequence.map(textOfOne).join(', ') || 'nothing';

function textOfOne(stimulus: Stimulus): string {
  const isOfOlder = stimulus.call !== undefined && stimulus.nth !== undefined;
  return `${labelOf(stimulus)}${isOfOlder ? ` (question ${stimulus.nth})` : ''}`;
}
