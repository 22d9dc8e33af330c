import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Envelope, JournalEvent, TerminalEvent } from '../../src/journal/events.ts';
import { TERMINAL_TYPES } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { HOOK_DENIAL } from './approval-channel.ts';
import type { ExpectedApproval, ExpectedCall } from './approval-expected-call.ts';
import type { Expectation } from './approval-expectation.ts';
import {
  type ApprovalPlayer,
  argumentsOf,
  callId,
  DECIDER,
  DENIAL,
  resultOf,
  SESSION,
} from './approval-player.ts';
import type { Setting } from './approval-stimuli.ts';

type EventOf<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>;

/** What can be seen of the system in the middle of a sequence. */
export async function seenOf(player: ApprovalPlayer) {
  const calls = [...player.decisionIds.keys()];
  return {
    executions: calls.map((at) => player.executionsOf(at).length),
    asked: calls.map((at) => player.isAsked(at)),
    pending: await player.pending(),
    notices: noticesOf(player),
    ends: endsIn(await player.host.entries(SESSION)),
  };
}

/** Throws unless that is what is expected. Of a process that has left nothing but its deeds is. */
export function expectSeen(
  seen: Awaited<ReturnType<typeof seenOf>>,
  world: Expectation,
  { decisionIds }: ApprovalPlayer,
): void {
  const { calls, ends } = world;
  const open = calls.flatMap((call, at) =>
    world.isOpen(call) ? [decisionIds[at]?.at(-1) ?? ''] : [],
  );
  const done = {
    executions: calls.map(({ executions }) => executions),
    notices: calls.map(({ approvals }) =>
      approvals.map(({ notice }) => (notice === undefined ? [] : [notice])),
    ),
    ends,
  };
  const asked = calls.map(({ approval }) => approval.question === 'out');
  if (world.process === 'gone') expect(seen).toMatchObject(done);
  else expect(seen).toEqual({ ...done, asked, pending: open.toSorted() });
}

/** Of each call, of each of its approvals. */
const noticesOf = ({ decisionIds, notices }: ApprovalPlayer): string[][][] =>
  decisionIds.map((ids) =>
    ids.map((id) =>
      notices.filter(({ decisionId }) => decisionId === id).map(({ reason }) => reason),
    ),
  );

/** Throws unless a world at rest is what it should be. */
export async function expectAtRest(player: ApprovalPlayer, world: Expectation): Promise<void> {
  const entries = await player.host.entries(SESSION);
  expect(checkJournal(entries, { ended: true })).toEqual([]);
  expect(endsIn(entries)).toEqual(world.ends);
  for (const [at, call] of world.calls.entries()) {
    const told = new ToldCall(entries, at, player.decisionIds[at] ?? []);
    expect(told.asIs, `call ${at}`).toEqual(told.asItShouldBe(call, world));
    expectHeard(player, at, call);
  }
  await expectNothingLeft(player);
}

/**
 * Throws unless a world whose process died in the middle of something came to a sound end: nobody
 * is left with a question, nothing ran twice or without its approval, and what was said to be
 * recorded is.
 */
export async function expectSurvived(
  player: ApprovalPlayer,
  recorded: Recorded | undefined,
): Promise<void> {
  const entries = await player.host.entries(SESSION);
  expect(checkJournal(entries, { ended: true })).toEqual([]);
  for (const [at, ids] of player.decisionIds.entries()) {
    const { approvals } = new ToldCall(entries, at, ids).asIs;
    for (const [nth, told] of approvals.entries()) {
      expect(told.winners.length).toBeLessThanOrEqual(1);
      const isRecorded = recorded?.at === at && recorded.nth === nth;
      if (isRecorded) expect([[], [recorded.winner]]).toContainEqual(told.winners);
      expectNotices(player, { at, nth }, told);
    }
    const approved = approvals.filter(({ winners }) => winners.includes('approved'));
    expect(approved.length).toBeLessThanOrEqual(1);
    expect(player.executionsOf(at).length).toBeLessThanOrEqual(approved.length);
  }
  await expectNothingLeft(player);
}

/** A decision that was answered as recorded. */
export interface Recorded {
  readonly at: number;
  readonly nth: number;
  readonly winner: 'approved' | 'denied';
}

/** What a dead process told may be told again, but nothing else, and nothing of what a webhook answered. */
function expectNotices(
  player: ApprovalPlayer,
  { at, nth }: { readonly at: number; readonly nth: number },
  { winners: [winner], by }: ToldApproval,
): void {
  if (winner === undefined || player.setting.route === 'conversational') return;
  const reasons = new Set(noticesOf(player)[at]?.[nth]);
  expect([...reasons], 'what the webhook is told').toHaveLength(by[0] === 'webhook' ? 0 : 1);
}

const endsIn = (entries: readonly Envelope[]): string[] =>
  entries
    .map(({ payload }) => payload.event)
    .filter((event): event is TerminalEvent => TERMINAL_TYPES.has(event.type))
    .map((event) => `${event.type} ${reasonOf(event)}`.trim());

function reasonOf(event: TerminalEvent): string {
  if (event.type === 'finished') return '';
  return event.type === 'failed' ? event.error.code : event.reason;
}

/** What the journal tells of one approval. */
interface ToldApproval {
  readonly winners: readonly string[];
  readonly by: readonly (string | undefined)[];
  readonly reminders: number;
  readonly withdrawn: readonly string[];
  readonly notified: readonly boolean[];
}

/** What the journal tells of one call and its approvals. */
class ToldCall {
  readonly #events: readonly JournalEvent[];
  readonly #at: number;
  readonly #ids: readonly string[];

  constructor(entries: readonly Envelope[], at: number, ids: readonly string[]) {
    this.#events = entries.map(({ payload }) => payload.event);
    this.#at = at;
    this.#ids = ids;
  }

  get asIs() {
    return {
      approvals: this.#ids.map((id) => this.#told(id)),
      digests: this.#starts().map(({ arguments_digest: digest }) => digest),
    };
  }

  asItShouldBe({ approvals, starts }: ExpectedCall, { setting }: Expectation): ToldCall['asIs'] {
    return {
      approvals: approvals.map((approval) => shouldBeTold(approval, setting)),
      digests: Array.from({ length: starts }, () => digestOf(argumentsOf(this.#at))),
    };
  }

  #told(decisionId: string): ToldApproval {
    const completed = this.#ofApproval(decisionId, 'approval_completed');
    const withdrawn = this.#ofApproval(decisionId, 'approval_withdrawn');
    return {
      winners: completed.map(winnerOf),
      by: completed.map(({ decided_by: by }) => by),
      reminders: this.#ofApproval(decisionId, 'approval_reminder').length,
      withdrawn: withdrawn.map(({ reason }) => reason),
      notified: withdrawn.map(({ notified }) => notified),
    };
  }

  #ofApproval<Type extends 'approval_completed' | 'approval_reminder' | 'approval_withdrawn'>(
    decisionId: string,
    type: Type,
  ): EventOf<Type>[] {
    return this.#events
      .filter((event): event is EventOf<Type> => event.type === type)
      .filter((event) => 'decision_id' in event && event.decision_id === decisionId);
  }

  #starts(): EventOf<'tool_start'>[] {
    return this.#events
      .filter((event) => event.type === 'tool_start')
      .filter(({ tool_id: id }) => id === callId(this.#at));
  }
}

function shouldBeTold(approval: ExpectedApproval, { notices }: Setting): ToldApproval {
  const { winner, notice, reminders, isTold } = approval;
  const withdrawn = isTold && notice !== undefined ? [notice] : [];
  return {
    winners: isTold && winner !== undefined ? [winner] : [],
    by: isTold ? [whoDecided(approval)] : [],
    reminders,
    withdrawn,
    notified: withdrawn.map(() => notices === 'taken'),
  };
}

function winnerOf({ outcome }: EventOf<'approval_completed'>): string {
  return outcome.kind === 'cancelled' ? `cancelled ${outcome.reason}` : outcome.kind;
}

function whoDecided({ winner, isByInbox }: ExpectedApproval): string | undefined {
  if (winner !== 'approved' && winner !== 'denied') return undefined;
  return isByInbox ? DECIDER : 'webhook';
}

const digestOf = (args: unknown): string =>
  `sha256:${createHash('sha256').update(JSON.stringify(args)).digest('hex')}`;

/** Whatever the model was told of a call, it was told the same each time, and that. */
function expectHeard({ requests }: ApprovalPlayer, at: number, call: ExpectedCall): void {
  const heard = requests
    .flatMap(({ messages }) => messages)
    .flatMap((message) =>
      message.role === 'tool' && message.toolCallId === callId(at) ? [message.content] : [],
    );
  for (const text of heard) expect(text).toMatch(textFor(at, call));
}

function textFor(at: number, call: ExpectedCall): RegExp | string {
  const { work, approval } = call;
  const { winner, isByInbox } = approval;
  switch (winner) {
    case 'approved':
      return work === 'returned' ? exactly(resultOf(at)) : /may have been executed/;
    case 'denied':
      return exactly(denialFor(isByInbox ? DENIAL : HOOK_DENIAL));
    case 'timed_out':
      return exactly('tool call denied: approval timed out');
    case 'errored':
      return exactly('tool call blocked: approval channel error: the hook broke');
    default:
      return exactly('tool call denied: approval cancelled');
  }
}

const denialFor = (reason: string): string =>
  `Tool call blocked by human approval denial: ${reason}. Do not execute this action.`;

const exactly = (text: string): RegExp => new RegExp(`^${text.replaceAll('.', '\\.')}$`);

async function expectNothingLeft(player: ApprovalPlayer): Promise<void> {
  const { process, processes } = player;
  const { data } = await process.supervisor.listRuns({ limit: 10 });
  expect(data.filter(({ ended_at: at }) => at === null)).toEqual([]);
  expect(await player.pending()).toEqual([]);
  expect(process.clock.pending, 'timers that survive').toEqual([]);
  expect(player.channel.questions.filter((question) => question.isOpen)).toEqual([]);
  expect(processes.flatMap((one) => one.messages('A run chart crashed'))).toEqual([]);
}
