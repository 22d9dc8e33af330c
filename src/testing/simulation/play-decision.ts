import type { ApprovalItem } from '../../approval-item.ts';
import { pick } from './pick.ts';
import type { Answered } from './request.ts';
import type { DecideHow, SimStep } from './steps.ts';
import type { SimWorld } from './world.ts';

/** A person decides, or tries to. */
export async function playDecision(
  world: SimWorld,
  { nth, how }: Extract<SimStep, { do: 'decide' }>,
): Promise<void> {
  const pending = await untilAsked(world);
  if (how === 'late') return await decideLate(world, pending, nth);
  const item = pick(pending, nth);
  if (item === undefined) return;
  if (how === 'both') return await decideBoth(world, item);
  const answer = await decide(world, item, bodyOf(how));
  expectTaken(world, item, { how, answer });
  if (how === 'twice' && answer?.status === 204) {
    expectTaken(world, item, { how, answer: await decide(world, item, bodyOf(how)) });
  }
}

/** Who comes to an empty inbox looks again in a moment. */
const LOOK_AGAIN_MS = 1_000;

async function untilAsked(world: SimWorld): Promise<readonly ApprovalItem[]> {
  const pending = await world.pendingApprovals();
  if (pending.length > 0) return pending;
  await world.clock.advance(LOOK_AGAIN_MS);
  return await world.pendingApprovals();
}

interface Body {
  readonly approved: boolean;
  readonly grant?: 'session';
  readonly arguments?: Readonly<Record<string, unknown>>;
}

function bodyOf(how: DecideHow): Body {
  if (how === 'deny') return { approved: false };
  if (how === 'grant') return { approved: true, grant: 'session' };
  if (how === 'edit') return { approved: true, arguments: { ms: 1, ends: 'ok', edited: true } };
  return { approved: true };
}

/** What is sent counts as said from then on: it may be taken, and its answer be lost. */
async function decide(
  world: SimWorld,
  { decision_id: id }: ApprovalItem,
  body: Body,
): Promise<Answered | undefined> {
  world.say(id, body.approved);
  return await world.ask({ method: 'POST', path: `/v1/approvals/${id}`, body });
}

function expectTaken(
  world: SimWorld,
  { may }: ApprovalItem,
  { how, answer }: { readonly how: DecideHow; readonly answer: Answered | undefined },
): void {
  if (answer === undefined || !world.isWell) return;
  const mayNot = (how === 'edit' && !may.edit) || (how === 'grant' && !may.grant);
  const expected = may.decide === 'signed' ? 404 : mayNot ? 422 : 204;
  if (answer.status === expected) return;
  world.fault(`${how} of a pending approval is answered ${answer.status}, not ${expected}`);
}

/** Of two who say different things at the same moment one is taken. */
async function decideBoth(world: SimWorld, item: ApprovalItem): Promise<void> {
  const answers = await Promise.all([
    decide(world, item, { approved: true }),
    decide(world, item, { approved: false }),
  ]);
  const statuses = answers.map((answer) => answer?.status);
  if (!world.isWell || statuses.includes(undefined)) return;
  const taken = statuses.filter((status) => status === 204).length;
  if (taken === (item.may.decide === 'signed' ? 0 : 1)) return;
  world.fault(`of two opposite decisions ${taken} are taken`);
}

/** Who comes when it is over changes nothing. */
async function decideLate(
  world: SimWorld,
  pending: readonly ApprovalItem[],
  nth: number,
): Promise<void> {
  const open = new Set(pending.map(({ decision_id }) => decision_id));
  const over = [...world.approvals.values()].filter(({ decision_id }) => !open.has(decision_id));
  const item = pick(over, nth);
  if (item === undefined) return;
  const answer = await decide(world, item, { approved: true });
  if (answer === undefined || answer.status === 404) return;
  // The same as what was decided before is taken again, as is one whose question was not told.
  if (answer.status === 204 || !world.isWell) return;
  world.fault(`a decision that comes too late is answered ${answer.status}`);
}
