import { SupervisorError } from '../../src/errors.ts';
import { ApprovalCase } from './approval-case.ts';
import type { Expectation } from './approval-expectation.ts';
import type { ApprovalPlayer } from './approval-player.ts';
import { expectSurvived, type Recorded } from './approval-verdict.ts';
import { isChecked } from './sound-journals.ts';
import { applyIfAble, expectationAfter, meantNow, takesTime } from './approval-sequences.ts';
import { type Answer, decisionIn, type Setting, type Stimulus } from './approval-stimuli.ts';

export interface Race {
  readonly before: readonly Stimulus[];
  readonly first: Stimulus;
  readonly second: Stimulus;
  /** Parts of turns of the event loop between the two. */
  readonly gap: number;
}

/** What came of one of the two: an answer, a refusal, or nothing before the process died. */
type Came = Answer | 'refused' | 'nothing';

/** One order of the two that explains what came. */
interface Order {
  readonly world: Expectation;
  readonly came: readonly (Came | undefined)[];
}

/**
 * Does two things at the same moment. Throws unless what came of that is what comes of one of their
 * orders, up to the very end.
 */
export async function playRace(setting: Setting, asked: Race): Promise<void> {
  const race = meantThen(setting, asked);
  const played = new ApprovalCase(setting);
  await played.begin(race.before);
  const came = await together(played, race);
  if (race.second.deed === 'reboot') return await survive(played, race.first, came[0]);
  const orders = ordersOf(setting, race, came).filter((order) => agree(came, order.came));
  await played.finish(orders.map(({ world }) => world));
}

/** Neither knows of the other. */
function meantThen(setting: Setting, { before, first, second, gap }: Race): Race {
  const world = expectationAfter(setting, before);
  return { before, first: meantNow(world, first), second: meantNow(world, second), gap };
}

/** A death finds the first in the middle of anything, so no order says what comes of it. */
async function survive(
  { player }: ApprovalCase,
  first: Stimulus,
  came: Came | undefined,
): Promise<void> {
  await rest(player);
  const { verbs } = await player.newest();
  if (verbs.includes('resume')) {
    await player.play({ deed: 'resume' });
    await rest(player);
  }
  await expectSurvived(player, came === 'recorded' ? recordedIn(first) : undefined);
  isChecked(player.host.store);
}

/** Whoever is asked for something gives it, and time passes. */
async function rest(player: ApprovalPlayer): Promise<void> {
  for (let round = 0; round < ROUNDS_TO_REST; round += 1) {
    for (const question of player.channel.questions) question.decide(true);
    await player.settle();
    for (const execution of player.process.tools.executions) execution.answer('late');
    await player.settle();
    for (const turn of player.process.model.turns) turn.say('Done.').finish();
    await player.waitLong();
  }
}

function recordedIn({
  deed,
  call: at,
  nth = 0,
}: Stimulus & { nth?: number }): Recorded | undefined {
  if (at === undefined) return undefined;
  const said = decisionIn(deed);
  return said && { at, nth, winner: said.approved ? 'approved' : 'denied' };
}

const ROUNDS_TO_REST = 3;

async function together(
  { player }: ApprovalCase,
  { first, second, gap }: Race,
): Promise<readonly Came[]> {
  const came: Came[] = ['nothing', 'nothing'];
  const launch = (at: number, stimulus: Stimulus) =>
    player.launch(stimulus).then(
      (answer) => void (came[at] = answer ?? 'nothing'),
      (error: unknown) => {
        if (!(error instanceof SupervisorError)) throw error;
        came[at] = 'refused';
      },
    );
  const one = launch(0, first);
  one.catch(() => {});
  await pass(gap);
  const two = launch(1, second);
  for (let turn = 0; turn < SETTLE_TURNS; turn += 1) await nextTurn();
  await two;
  await player.settle();
  await player.settle();
  return came;
}

const SETTLE_TURNS = 20;

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function pass(gap: number): Promise<void> {
  for (let micro = 0; micro < gap % 10; micro += 1) await Promise.resolve();
  for (let turn = 0; turn < Math.floor(gap / 10); turn += 1) await nextTurn();
}

function ordersOf(setting: Setting, race: Race, came: readonly Came[]): readonly Order[] {
  const { before, first, second } = race;
  const one = { stimulus: first, at: 0 };
  const two = { stimulus: second, at: 1 };
  const orders = [
    [one, two],
    [two, one],
    // What was refused was not heard.
    ...(isSilent(came[0]) ? [[two]] : []),
    ...(isSilent(came[1]) && !takesTime(second) ? [[one]] : []),
  ];
  const manners = (['told', 'untold', 'unbegun'] as const).flatMap((work) =>
    [false, true].map((isSlow) => ({ work, isSlow })),
  );
  return orders.flatMap((steps) =>
    manners.map(({ work, isSlow }) => {
      const world = expectationAfter(setting, before);
      const known = world.calls.map(({ executions }) => executions);
      if (isSlow) world.hold();
      const said: (Came | undefined)[] = [undefined, undefined];
      for (const { stimulus, at } of steps) said[at] = applyIfAble(world, stimulus) ?? 'nothing';
      world.letGo();
      if (work !== 'told') cutShort(world, known, work);
      return { world, came: said };
    }),
  );
}

/** A stop may come after the approval and before the tool begins, or before that is told. */
function cutShort(
  { calls }: Expectation,
  known: readonly number[],
  work: 'untold' | 'unbegun',
): void {
  for (const [at, call] of calls.entries()) {
    if (call.work !== 'cut' && call.work !== 'stopping') continue;
    call.starts = known[at] ?? 0;
    if (work === 'untold') continue;
    call.executions = call.starts;
    call.work = 'cut';
  }
}

/** A decision never says what it is not; what was refused, or not answered, says nothing. */
const agree = (came: readonly Came[], should: readonly (Came | undefined)[]): boolean =>
  came.every((one, at) => isSilent(one) || should[at] === undefined || one === should[at]);

const isSilent = (came: Came | undefined): boolean => came === 'refused' || came === 'nothing';
