import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Envelope, JournalEvent, TerminalEvent } from '../../src/journal/events.ts';
import { TERMINAL_TYPES } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { HOOK_DENIAL } from './approval-channel.ts';
import type { ExpectedCall } from './approval-expected-call.ts';
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
  const open = calls.flatMap((call, at) => (world.isOpen(call) ? [decisionIds[at] ?? ''] : []));
  const done = {
    executions: calls.map(({ executions }) => executions),
    notices: calls.map(({ notice }) => (notice === undefined ? [] : [notice])),
    ends,
  };
  const asked = calls.map(({ question }) => question === 'out');
  if (world.process === 'gone') expect(seen).toMatchObject(done);
  else expect(seen).toEqual({ ...done, asked, pending: open.toSorted() });
}

/** A process tells once; one that comes after it cannot know whether that was heard, and tells again. */
const noticesOf = ({ decisionIds, notices }: ApprovalPlayer): string[][] =>
  decisionIds.map((id) => {
    const told = notices.filter(({ decisionId }) => decisionId === id);
    return told.filter(({ through }) => through === told[0]?.through).map(({ reason }) => reason);
  });

/** Throws unless a world at rest is what it should be. */
export async function expectAtRest(player: ApprovalPlayer, world: Expectation): Promise<void> {
  const entries = await player.host.entries(SESSION);
  expect(checkJournal(entries, { ended: true })).toEqual([]);
  expect(endsIn(entries)).toEqual(world.ends);
  for (const [at, call] of world.calls.entries()) {
    const told = new ToldCall(entries, at, player.decisionIds[at] ?? '');
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
  recorded: ReadonlyMap<number, boolean>,
): Promise<void> {
  const entries = await player.host.entries(SESSION);
  expect(checkJournal(entries, { ended: true })).toEqual([]);
  for (const [at, decisionId] of player.decisionIds.entries()) {
    const { winners, by } = new ToldCall(entries, at, decisionId).asIs;
    const [winner] = winners;
    expect(winners.length).toBeLessThanOrEqual(1);
    const approved = recorded.get(at);
    if (approved !== undefined && winner !== undefined) {
      expect(winner).toBe(approved ? 'approved' : 'denied');
    }
    const most = winner === 'approved' ? 1 : 0;
    expect(player.executionsOf(at).length).toBeLessThanOrEqual(most);
    if (winner !== undefined) expectTold(player, at, by[0] === 'webhook');
  }
  await expectNothingLeft(player);
}

/** What a dead process told may be told again, but nothing of what the webhook answered. */
function expectTold(player: ApprovalPlayer, at: number, isAnswered: boolean): void {
  if (player.setting.route === 'conversational') return;
  const told = noticesOf(player)[at] ?? [];
  expect(told.length > 0, `the webhook is told, answered: ${isAnswered}`).toBe(!isAnswered);
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

/** What the journal tells of one call and its approval. */
class ToldCall {
  readonly #events: readonly JournalEvent[];
  readonly #at: number;
  readonly #decisionId: string;

  constructor(entries: readonly Envelope[], at: number, decisionId: string) {
    this.#events = entries.map(({ payload }) => payload.event);
    this.#at = at;
    this.#decisionId = decisionId;
  }

  get asIs() {
    return {
      winners: this.#ofApproval('approval_completed').map(winnerOf),
      by: this.#ofApproval('approval_completed').map(({ decided_by: by }) => by),
      digests: this.#starts().map(({ arguments_digest: digest }) => digest),
      reminders: this.#ofApproval('approval_reminder').length,
      withdrawn: this.#ofApproval('approval_withdrawn').map(({ reason }) => reason),
      notified: this.#ofApproval('approval_withdrawn').map(({ notified }) => notified),
    };
  }

  asItShouldBe(call: ExpectedCall, { setting }: Expectation): ToldCall['asIs'] {
    const { winner, notice, starts, reminders, isTold } = call;
    const withdrawn = isTold && notice !== undefined ? [notice] : [];
    // Whether it was taken is not kept with what is closed in the store.
    const notified = call.isClosedInStore ? expect.any(Boolean) : setting.notices === 'taken';
    return {
      winners: isTold && winner !== undefined ? [winner] : [],
      by: isTold ? [whoDecided(call)] : [],
      digests: Array.from({ length: starts }, () => digestOf(argumentsOf(this.#at))),
      reminders,
      withdrawn,
      notified: withdrawn.map(() => notified),
    };
  }

  #ofApproval<Type extends 'approval_completed' | 'approval_reminder' | 'approval_withdrawn'>(
    type: Type,
  ): EventOf<Type>[] {
    return this.#events
      .filter((event): event is EventOf<Type> => event.type === type)
      .filter((event) => 'decision_id' in event && event.decision_id === this.#decisionId);
  }

  #starts(): EventOf<'tool_start'>[] {
    return this.#events
      .filter((event) => event.type === 'tool_start')
      .filter(({ tool_id: id }) => id === callId(this.#at));
  }
}

function winnerOf({ outcome }: EventOf<'approval_completed'>): string {
  return outcome.kind === 'cancelled' ? `cancelled ${outcome.reason}` : outcome.kind;
}

function whoDecided({ winner, isByInbox }: ExpectedCall): string | undefined {
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
  const { winner, isByInbox, work } = call;
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
