import { StoreUnavailableError } from '../errors.ts';
import {
  type AppendOutcome,
  type AppendPart,
  lastSeqOf,
  type Store,
  type TerminalLine,
} from '../stores/store.ts';
import { encodeEvent, envelopeHead, EventEntry } from './entry.ts';
import { LeaseLostError, RunTakenError } from './errors.ts';
import type { JournalLog } from './log.ts';
import type { StoredEntry } from './reader.ts';
import type { Session, SettleRequest } from './session.ts';

export interface WriterDeps {
  readonly store: Store;
  readonly now: () => number;
  readonly log: JournalLog;
  readonly queueBytesMax: number;
  /** Runs the function when this turn's entries are together; never within the call. */
  readonly schedule: (flush: () => void) => void;
  /** Called with what the store took, before anybody who waits for it is told. */
  readonly publish: (sessionId: string, entries: readonly StoredEntry[]) => void;
}

/** What one session has in the group under way. */
interface Outgoing {
  readonly session: Session;
  readonly part: AppendPart;
  readonly entries: StoredEntry[];
  readonly terminal: OutgoingTerminal | undefined;
}

interface OutgoingTerminal {
  readonly entry: StoredEntry;
  readonly request: SettleRequest;
  readonly line: TerminalLine;
}

/** What came of a group: an outcome a part, or the reason why the store took nothing. */
type Answer = { readonly outcomes: readonly AppendOutcome[] } | { readonly cause: unknown };

/**
 * Takes the entries of all sessions to the store: one transaction a turn, one at a time.
 *
 * W1. A group under way is settled before the next one leaves, so entries reach the store in order.
 * W2. An entry is published after the store took it and before its writer is told.
 * W3. At most one terminal a session and group, and it is last: one that lost leaves no hole, unless
 *     an engine that answers later let others mint behind it; then the session fails instead.
 */
export class Writer {
  readonly #deps: WriterDeps;
  #listed: Session[] = [];
  #scheduled = false;
  #underWay: Promise<void> | undefined;
  #bytes = 0;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
  }

  /** The session's queue has grown by `bytes` characters, or a settlement was asked for. */
  list(session: Session, bytes: number): void {
    this.#bytes += bytes;
    if (session.listed) return;
    session.listed = true;
    this.#listed.push(session);
    this.#schedule();
  }

  /** Resolves when the queue has room again; undefined while it has. */
  full(): Promise<void> | undefined {
    if (this.#bytes < this.#deps.queueBytesMax) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Writes everything queued now. Settles when nothing is left; never rejects. */
  async drain(): Promise<void> {
    while (this.#listed.length > 0 || this.#underWay !== undefined) {
      if (this.#underWay === undefined) this.#flush();
      await this.#underWay;
    }
  }

  /** Ends a session that must not write any more. */
  fail(session: Session, error: Error): void {
    this.#took(session.fail(error));
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay !== undefined) return;
    this.#scheduled = true;
    this.#deps.schedule(() => {
      this.#scheduled = false;
      if (this.#underWay === undefined) this.#flush();
    });
  }

  #flush(): void {
    const group = this.#take();
    if (group.length === 0) return;
    const answer = this.#append(group.map(({ part }) => part));
    if (answer instanceof Promise) this.#underWay = this.#wait(group, answer);
    else this.#settle(group, answer);
  }

  #append(parts: readonly AppendPart[]): Answer | Promise<Answer> {
    try {
      const outcomes = this.#deps.store.append(parts);
      if (!(outcomes instanceof Promise)) return { outcomes };
      return outcomes.then(
        (taken) => ({ outcomes: taken }),
        (cause: unknown) => ({ cause }),
      );
    } catch (cause) {
      return { cause };
    }
  }

  async #wait(group: readonly Outgoing[], answer: Promise<Answer>): Promise<void> {
    const settled = await answer;
    this.#underWay = undefined;
    this.#settle(group, settled);
    if (this.#listed.length > 0) this.#schedule();
  }

  #take(): Outgoing[] {
    const sessions = this.#listed;
    this.#listed = [];
    const group: Outgoing[] = [];
    for (const session of sessions) {
      session.listed = false;
      const outgoing = session.failure === undefined ? this.#outgoing(session) : undefined;
      if (outgoing !== undefined) group.push(outgoing);
    }
    return group;
  }

  #outgoing(session: Session): Outgoing | undefined {
    const { queue: entries } = session;
    session.queue = [];
    const beside = takeBeside(session);
    const firstSeq = session.next - entries.length;
    const terminal = this.#terminal(session);
    if (session.settles.length > 0) this.list(session, 0);
    if (entries.length === 0 && beside === undefined && terminal === undefined) return undefined;
    const body = bodyOf(entries);
    const lines = { lease: session.lease, firstSeq, count: entries.length, body };
    const part = beside === undefined ? lines : { ...lines, ...beside };
    if (terminal === undefined) return { session, part, entries, terminal };
    return { session, part: { ...part, terminal: terminal.line }, entries, terminal };
  }

  /** The next settlement whose record can be made; one that cannot is told so. */
  #terminal(session: Session): Outgoing['terminal'] {
    for (;;) {
      const request = session.settles.shift();
      if (request === undefined) return undefined;
      try {
        return terminalOf(session, request, this.#deps.now());
      } catch (error) {
        request.reject(error as Error); // Whatever the record's maker threw is its caller's.
      }
    }
  }

  #settle(group: readonly Outgoing[], answer: Answer): void {
    for (const { part } of group) this.#took(bytesOf(part));
    if ('cause' in answer) return this.#refused(group, answer.cause);
    group.forEach((outgoing, i) => {
      const outcome = answer.outcomes[i];
      if (outcome !== undefined) this.#settleOne(outgoing, outcome);
      else this.#end(outgoing, new StoreUnavailableError(new Error('The store gave no outcome.')));
    });
  }

  #settleOne(outgoing: Outgoing, outcome: AppendOutcome): void {
    switch (outcome.status) {
      case 'written':
        return this.#written(outgoing);
      case 'lost':
        return this.#lost(outgoing, outcome.settledSeq);
      case 'fenced':
        return this.#end(outgoing, new LeaseLostError(outgoing.session.publicId));
      case 'taken':
        return this.#end(outgoing, new RunTakenError());
      case 'conflict': {
        const { head } = outcome;
        const cause = new Error(`The store is at ${head}, not before ${outgoing.part.firstSeq}.`);
        return this.#end(outgoing, new StoreUnavailableError(cause));
      }
    }
  }

  #written({ session, part, entries, terminal }: Outgoing): void {
    if (terminal !== undefined) entries.push(terminal.entry);
    this.#publish(session, entries, lastSeqOf(part));
    terminal?.request.resolve({ won: true, seq: terminal.entry.seq });
  }

  #lost({ session, part, entries, terminal }: Outgoing, settledSeq: number): void {
    const lost = part.firstSeq + part.count;
    this.#publish(session, entries, lost - 1);
    terminal?.request.resolve({ won: false, seq: settledSeq });
    if (session.next === lost + 1) session.next = lost;
    else this.fail(session, new StoreUnavailableError(new Error(`Entry ${lost} was refused.`)));
  }

  #publish(session: Session, entries: readonly StoredEntry[], durable: number): void {
    if (entries.length > 0) {
      this.#deps.publish(session.id, entries);
      this.#wakeOthers(session.id, durable);
    }
    session.advance(durable);
  }

  /** A hint, no more: what is stored is stored whether anybody is woken or not. */
  #wakeOthers(sessionId: string, head: number): void {
    try {
      this.#deps.store.bus.publish(sessionId, head);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'The bus took no hint.');
    }
  }

  #end({ session, terminal }: Outgoing, error: Error): void {
    terminal?.request.reject(error);
    this.fail(session, error);
  }

  #refused(group: readonly Outgoing[], cause: unknown): void {
    const error = new StoreUnavailableError(cause);
    this.#deps.log.error({ err: cause, sessions: group.length }, 'The store refused a group.');
    for (const outgoing of group) this.#end(outgoing, error);
  }

  #took(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#room === undefined || this.#bytes >= this.#deps.queueBytesMax) return;
    this.#room.resolve();
    this.#room = undefined;
  }
}

/** Mints the terminal's `seq`, so nothing may be minted between this and the append. */
function terminalOf(session: Session, request: SettleRequest, at: number): OutgoingTerminal {
  const { runId, event, eventJson } = request;
  const { record, ...last } = request.last;
  const seq = session.next;
  const lastRecord = record && { record: record(seq, at) };
  const head = envelopeHead(session.publicId, runId);
  const json = encodeEvent(head, { seq, at, kind: 'lifecycle', eventJson });
  const entry = new EventEntry({ sessionId: session.id, runId, seq, at }, 'lifecycle', event, json);
  session.next += 1;
  return { entry, request, line: { runId, line: json, ...last, ...lastRecord } };
}

type Beside = Pick<AppendPart, 'records' | 'checkpoints' | 'endedApprovals' | 'continues'>;

/** What goes with the entries and is none; undefined when there is nothing, which is mostly so. */
function takeBeside(session: Session): Beside | undefined {
  const { records, checkpoints, endedApprovals, continues } = session;
  const lines = records.length + checkpoints.length + endedApprovals.length;
  if (lines === 0 && continues === undefined) return undefined;
  session.records = [];
  session.checkpoints = [];
  session.endedApprovals = [];
  session.continues = undefined;
  return {
    ...(records.length > 0 && { records }),
    ...(checkpoints.length > 0 && { checkpoints }),
    ...(endedApprovals.length > 0 && { endedApprovals }),
    ...(continues !== undefined && { continues }),
  };
}

function bodyOf(entries: readonly StoredEntry[]): string {
  if (entries.length === 1) return entries[0]?.json ?? '';
  return entries.map(({ json }) => json).join('\n');
}

/** What the entries of a part were counted as when they were queued. */
const bytesOf = ({ body, count }: AppendPart): number => body.length - Math.max(0, count - 1);
