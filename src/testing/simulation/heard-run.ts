import type { Envelope, JournalEvent, TerminalEvent } from '../../journal/events.ts';
import { TERMINAL_TYPES } from '../../journal/events.ts';
import type { ScriptStep, ScriptTurn } from '../../providers/scripted.ts';

export interface At<Event> {
  /** Milliseconds since the first entry of the run. */
  readonly at: number;
  /** Which of the run's entries it is. */
  readonly place: number;
  readonly event: Event;
}

type Of<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>;

/** One run of a journal, asked for what is needed to have it happen again. */
export class HeardRun {
  readonly runId: string;
  readonly told: readonly At<JournalEvent>[];
  /** Epoch milliseconds of what the times are counted from. */
  readonly startedAt: number;

  constructor(runId: string, entries: readonly Envelope[]) {
    const own = entries.filter(({ run_id: id }) => id === runId);
    const start =
      own.find(({ payload }) => payload.event.type === 'started')?.at ?? own[0]?.at ?? 0;
    this.runId = runId;
    this.startedAt = start;
    this.told = own.map(({ at, payload }, place) => ({
      at: Math.max(0, at - start),
      place,
      event: payload.event,
    }));
  }

  all<Type extends JournalEvent['type']>(type: Type): readonly At<Of<Type>>[] {
    return this.told.filter((entry): entry is At<Of<Type>> => entry.event.type === type);
  }

  first<Type extends JournalEvent['type']>(type: Type): At<Of<Type>> | undefined {
    return this.all(type)[0];
  }

  get terminal(): At<TerminalEvent> | undefined {
    return this.told.find((entry): entry is At<TerminalEvent> =>
      TERMINAL_TYPES.has(entry.event.type),
    );
  }

  /** Why it cannot happen again by itself; undefined when it can. */
  get unplayable(): string | undefined {
    const started = this.first('started');
    const end = this.terminal?.event;
    if (started === undefined) return 'it never started';
    if (started.event.continues !== undefined) return 'it goes on with another run';
    if (end === undefined) return 'it has not ended';
    const because = 'reason' in end ? end.reason : 'error' in end ? end.error.code : '';
    return OF_OTHERS[because];
  }

  /** What the model did, request by request; one that was cut off says nothing more. */
  get turns(): readonly ScriptTurn[] {
    const turns: ScriptTurn[] = [];
    let steps: ScriptStep[] = [];
    let last = 0;
    const add = (at: number, step: ScriptStep): void => {
      steps.push({ ...step, afterMs: Math.max(0, at - last) });
      last = Math.max(last, at);
    };
    const close = (at: number, end: ScriptStep): void => {
      add(at, end);
      turns.push(steps);
      steps = [];
    };
    for (const [index, { at, event }] of this.told.entries()) {
      if (event.type === 'text_delta') add(at, { do: 'text', text: event.text });
      else if (event.type === 'reasoning') add(at, { do: 'reasoning', text: event.content });
      else if (event.type === 'tool_requested') {
        const { tool_id: id, tool_name: name, arguments_text: argumentsText } = event;
        add(at, { do: 'toolCall', call: { id, name, argumentsText } });
        if (this.#asksNoMore(index)) close(at, { do: 'finish', reason: 'tool_calls' });
      } else if (event.type === 'tool_complete') last = Math.max(last, at);
      else if (event.type === 'finished')
        close(at, { do: 'finish', reason: event.finish_reason ?? 'stop' });
      else if (event.type === 'failed')
        close(at, { do: 'error', failure: { ...event.error, retryable: false } });
    }
    return [...turns, [...steps, { do: 'stall' }]];
  }

  /** The call is the last of its turn: what follows is none, nor a word. */
  #asksNoMore(index: number): boolean {
    const next = this.told
      .slice(index + 1)
      .find(
        ({ event }) =>
          OF_MODEL.has(event.type) || event.type === 'tool_complete' || event.type === 'usage',
      );
    return next?.event.type !== 'tool_requested' || next.at > (this.told[index]?.at ?? 0);
  }

  /** The most calls that were under way, or waited for a person, at a time. */
  get callsAtOnce(): number {
    const open = new Set<string>();
    let most = 1;
    for (const { event } of this.told) {
      if (event.type === 'tool_start') open.add(event.tool_id);
      else if (event.type === 'approval_requested') open.add(event.tool_call_id);
      else if (event.type === 'tool_complete') open.delete(event.tool_id);
      most = Math.max(most, open.size);
    }
    return most;
  }

  /** What was decided about its life, in order, as words: the same when it happens again. */
  get decisions(): readonly string[] {
    return this.told.flatMap(({ event }) => {
      switch (event.type) {
        case 'claims_exhausted':
          return [`${event.type} ${event.grace_ms}`];
        case 'liveness_decided':
          return [`${event.type} ${event.policy}`];
        case 'stopping':
          return [[event.type, event.cause, event.which].filter(Boolean).join(' ')];
        case 'approval_completed':
          return [`${event.type} ${event.outcome.kind}`];
        case 'started':
        case 'finished':
          return [event.type];
        case 'cancelled':
          return [[event.type, event.reason, event.which].filter(Boolean).join(' ')];
        case 'parked':
          return [`${event.type} ${event.reason}`];
        case 'failed':
          return [`${event.type} ${event.error.code}`];
        default:
          return [];
      }
    });
  }
}

const OF_MODEL: ReadonlySet<string> = new Set(['text_delta', 'reasoning', 'tool_requested']);

/** Ends that come from beyond the run. */
const OF_OTHERS: Readonly<Record<string, string | undefined>> = {
  owner_lost: 'its process was lost',
  lease_lost: 'another process took its session',
  superseded: 'another run took its place',
  store_unavailable: 'the store failed',
  internal_error: 'the server failed',
};
