import type { Envelope, JournalEvent } from '../../../journal/events.ts';
import type { ModelCall, ModelRoom, ScriptedModel } from '../kit/model.ts';
import { markOf } from '../kit/model.ts';
import type { Asked, ScriptedTools } from '../kit/tools.ts';
import type { Beginning } from '../paths/scenario.ts';
import type { Api, EventReader } from './api.ts';
import { entriesOf, isTerminal, lineOf, wordOf } from './entries.ts';
import { Mismatch } from './mismatch.ts';
import { type Bound, within } from './within.ts';

/** A run that the path has started, under the letter that the path knows it by. */
export interface StageRun {
  readonly letter: string;
  readonly runId: string;
}

export interface StageOptions {
  /** Also the name of the session. */
  readonly id: string;
  readonly api: Api;
  readonly model: ScriptedModel;
  readonly tools: ScriptedTools;
  readonly signal: AbortSignal;
}

/** The first run of a path, which most paths are about. */
export const MAIN = 'a';

/** One path in the middle of being taken: its session, its runs, who reads, and what has come so far. */
export class Stage {
  readonly id: string;
  readonly api: Api;
  readonly model: ModelRoom;
  readonly tools: ReturnType<ScriptedTools['room']>;
  readonly runs: StageRun[] = [];
  /** Readers that hold a claim, by name. */
  readonly claimants = new Map<string, EventReader>();
  /** Every stream of entries that was opened, for the checks at the end. */
  readonly readers: { readonly runId?: string; readonly reader: EventReader }[] = [];
  /** What no journal has: starts that were refused. */
  readonly refused: string[] = [];
  readonly #signal: AbortSignal;
  #watch: EventReader | undefined;
  readonly #held = new Map<string, ModelCall>();
  readonly #listeners = new Set<() => void>();
  #callCount = 0;

  constructor({ id, api, model, tools, signal }: StageOptions) {
    this.id = id;
    this.api = api;
    this.model = model.room(id);
    this.tools = tools.room(id);
    this.#signal = signal;
  }

  prompt(letter: string): string {
    return `Run ${letter} of a conformance path. ${markOf(this.id, letter)}`;
  }

  /** Notes a run, and reads the session from its first entry on. */
  async joined(letter: string, runId: string): Promise<void> {
    this.runs.push({ letter, runId });
    if (this.#watch !== undefined) return;
    const watch = await this.api.stream(`/v1/sessions/${this.id}/events?from=1`);
    watch.onFrame(() => this.#changed());
    this.#watch = watch;
    this.readers.push({ reader: watch });
  }

  /** The entries of the session so far. */
  get entries(): readonly Envelope[] {
    return this.#watch === undefined ? [] : entriesOf(this.#watch);
  }

  /** The newest run under this letter. */
  run(letter = MAIN): StageRun {
    const run = this.runs.findLast((one) => one.letter === letter);
    if (run === undefined) throw new Error(`The path has no run ${letter}.`);
    return run;
  }

  events(letter = MAIN): readonly JournalEvent[] {
    const { runId } = this.run(letter);
    return this.entries
      .filter((entry) => entry.run_id === runId)
      .map(({ payload }) => payload.event);
  }

  count(type: JournalEvent['type'], letter = MAIN): number {
    return this.events(letter).filter((event) => event.type === type).length;
  }

  /** The newest entry of a type. */
  latest<Type extends JournalEvent['type']>(type: Type): Extract<JournalEvent, { type: Type }> {
    const event = this.events().findLast((one) => one.type === type);
    if (event === undefined) throw new Mismatch(`an entry ${type}`, this.excerpt());
    return event as Extract<JournalEvent, { type: Type }>;
  }

  /** Waits until the entries are as wanted; `what` says it for the report. */
  async until(what: string, isSo: () => boolean, withinMs = WAIT_MS): Promise<void> {
    const isThere = await within(this.#bound(withinMs), async (limit) => {
      while (!isSo() && !limit.aborted) await this.#next(limit);
      return isSo();
    });
    if (!isThere) throw new Mismatch(`${what} within ${withinMs / 1_000} s`, this.excerpt());
  }

  /** One entry of a type more than there were. */
  more(type: JournalEvent['type'], before: number, withinMs?: number): Promise<void> {
    const what = `entry ${type} number ${before + 1}`;
    return this.until(what, () => this.count(type) > before, withinMs);
  }

  ended(letter = MAIN, withinMs?: number): Promise<void> {
    const { runId } = this.run(letter);
    const isSo = (): boolean =>
      this.entries.some((entry) => entry.run_id === runId && isTerminal(entry));
    return this.until(`the end of run ${letter}`, isSo, withinMs);
  }

  /** The terminal entry as a word; undefined while there is none. */
  terminal(letter = MAIN): string | undefined {
    const { runId } = this.run(letter);
    const entry = this.entries.find((one) => one.run_id === runId && isTerminal(one));
    return entry === undefined ? undefined : wordOf(entry.payload.event);
  }

  /** The request to the model that waits for an answer, now or when it comes. */
  async modelCall(letter = MAIN): Promise<ModelCall> {
    const held = this.#held.get(letter);
    if (held !== undefined) return held;
    const call = await this.bounded(this.model.next(letter), `run ${letter} to ask its model`);
    this.#held.set(letter, call);
    return call;
  }

  /** The same, which is answered now. */
  async answering(letter = MAIN): Promise<ModelCall> {
    const call = await this.modelCall(letter);
    this.#held.delete(letter);
    return call;
  }

  toolCall(which: string): Promise<Asked> {
    return this.bounded(this.tools.calls.of(which).next(), `tool ${which} to be called`);
  }

  question(): Promise<Asked> {
    return this.bounded(this.tools.questions.of(MAIN).next(), 'the webhook to be asked');
  }

  /** Calls as the model makes them; the arguments say which path they belong to. */
  toolCalls(...named: readonly { readonly name: string; readonly which: string }[]) {
    return named.map(({ name, which }) => {
      this.#callCount += 1;
      const id = `call_${this.#callCount}`;
      return { id, name, arguments: { path: this.id, which } };
    });
  }

  async bounded<T>(promise: Promise<T>, what: string, withinMs = WAIT_MS): Promise<T> {
    const given = await within(this.#bound(withinMs), (limit) =>
      Promise.race([promise, aborted(limit)]),
    );
    if (given !== GONE) return given;
    throw new Mismatch(`${what} within ${withinMs / 1_000} s`, this.excerpt());
  }

  /** The last entries, for a report. */
  excerpt(): string {
    if (this.entries.length === 0) return 'no entry of the session';
    return `the last entries are ${this.entries.slice(-EXCERPT).map(lineOf).join(', ')}`;
  }

  /** Whatever still waits goes on: the model answers, tools succeed, webhooks approve. */
  letGo(answer: (call: ModelCall) => void): void {
    for (const [, call] of this.#held) answer(call);
    this.#held.clear();
    this.model.answerAll(
      answer,
      this.runs.map(({ letter }) => letter),
    );
    this.tools.answerAll();
  }

  leaveAll(): void {
    for (const { reader } of this.readers) reader.leave();
    for (const [, reader] of this.claimants) reader.leave();
  }

  #bound(ms: number): Bound {
    return { ms, timers: this.api.timers, signal: this.#signal };
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** Resolves with the next frame, or when the limit is reached. */
  #next(limit: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#listeners.add(resolve);
      limit.addEventListener('abort', () => resolve(), { once: true });
      if (limit.aborted) resolve();
    });
  }
}

const GONE = Symbol('gone');

const aborted = (signal: AbortSignal): Promise<typeof GONE> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(GONE);
    else signal.addEventListener('abort', () => resolve(GONE), { once: true });
  });

/** What a server that does its part answers far within, also on a slow machine. */
export const WAIT_MS = 15_000;
const EXCERPT = 8;

export type Act = (stage: Stage, begins: Beginning) => Promise<void>;
