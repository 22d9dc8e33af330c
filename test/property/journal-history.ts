import { expect } from 'vitest';
import type { Envelope } from '../../src/journal/events.ts';
import { createJournal, type Journal } from '../../src/journal/journal.ts';
import { denseSeq, oneTerminal } from '../../src/journal/invariants.ts';
import type { Follower, Gap, JournalSink, StoredEntry } from '../../src/journal/reader.ts';
import type { RunJournal } from '../../src/journal/run-journal.ts';
import type { AppendOutcome, AppendPart, Store } from '../../src/stores/store.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';
import {
  type AppendFate,
  finished,
  microtasks,
  reasoning,
  type TrickyStore,
  trickyStore,
  Turns,
} from '../unit/journal-kit.ts';

/** One thing that may happen. */
export type Step =
  | { readonly do: 'text'; readonly run: number; readonly text: string }
  | { readonly do: 'event' | 'settle' | 'release'; readonly run: number }
  | { readonly do: 'turn' | 'answer' | 'crash' }
  | { readonly do: 'follow'; readonly reader: number; readonly back: number }
  | { readonly do: 'fill' | 'resume'; readonly reader: number; readonly room: number }
  | { readonly do: 'close'; readonly reader: number }
  | { readonly do: 'trim'; readonly share: number }
  | { readonly do: 'hold'; readonly held: boolean }
  | { readonly do: 'fate'; readonly fate: AppendFate };

const SESSION = 's';

/** What the engine has really written, by `seq`, and what it has let go. */
interface Truth {
  readonly lines: Map<number, string>;
  floor: number;
}

/** A reader that checks each thing it is given at the moment it is given. */
class CheckingReader implements JournalSink {
  readonly #truth: Truth;
  follower: Follower | undefined;
  next: number;
  room = Number.POSITIVE_INFINITY;

  constructor(truth: Truth, from: number) {
    this.#truth = truth;
    this.next = from;
  }

  entries(batch: readonly StoredEntry[]): boolean {
    for (const { seq, json } of batch) {
      expect(seq).toBe(this.next);
      expect(json).toBe(this.#truth.lines.get(seq));
      this.next += 1;
    }
    this.room -= 1;
    return this.room > 0;
  }

  gap({ from, to }: Gap): void {
    expect(from).toBe(this.next);
    expect(to).toBeLessThanOrEqual(this.#truth.floor);
    this.next = to + 1;
  }

  failed(error: Error): void {
    throw error;
  }
}

/**
 * Plays a history against a journal. The process may crash in it: then the journal, its queue and
 * its readers' connections are gone, and another process goes on with the same store.
 */
export class JournalHistory {
  readonly #open: () => Store;
  readonly #runs: (RunJournal | undefined)[];
  readonly #runIds: string[];
  readonly #readers = new Map<number, CheckingReader>();
  readonly #truth: Truth = { lines: new Map(), floor: 0 };
  readonly #opened: Store[] = [];
  readonly #thrown: object[] = [];
  #turns = new Turns();
  #store: TrickyStore;
  #journal: Journal;
  #crashes = 0;
  #settled = 0;

  constructor(open: () => Store, runs: number) {
    this.#open = open;
    this.#runs = Array.from({ length: runs });
    this.#runIds = Array.from({ length: runs }, (_, i) => `run ${i}.0`);
    this.#store = this.#openStore();
    this.#journal = this.#openJournal();
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await this.#take(step);
    await this.#quiet();
    await this.#check();
    for (const store of this.#opened) await store.close();
  }

  async #take(step: Step): Promise<void> {
    switch (step.do) {
      case 'text':
        (await this.#run(step.run)).text(step.text);
        return;
      case 'event':
        (await this.#run(step.run)).append('agent', reasoning('because'));
        return;
      case 'settle': {
        // Not awaited: the group is answered later, or never when the process dies first.
        const settled = (await this.#run(step.run)).settle(finished);
        settled.catch(() => undefined);
        this.#settled += 1;
        this.#runIds[step.run] = `run ${step.run}.${this.#settled}`;
        this.#runs[step.run] = undefined;
        return;
      }
      case 'release':
        // Not awaited: it waits for the group under way, which answers later.
        void this.#runs[step.run]?.release();
        this.#runs[step.run] = undefined;
        return;
      case 'turn':
        return this.#turns.one();
      case 'answer':
        return this.#store.answer();
      case 'hold':
        this.#store.held = step.held;
        return;
      case 'fate':
        this.#store.fates = [step.fate];
        return;
      case 'trim':
        return this.#trim(Math.floor(step.share * this.#head()));
      case 'crash':
        return this.#crash();
      default:
        return this.#read(step);
    }
  }

  #read(step: Extract<Step, { reader: number }>): void {
    const reader = this.#readers.get(step.reader);
    switch (step.do) {
      case 'follow':
        reader?.follower?.close();
        return this.#follow(step.reader, Math.max(1, this.#head() + 2 - step.back));
      case 'fill':
        if (reader !== undefined) reader.room = step.room;
        return;
      case 'resume':
        if (reader !== undefined) reader.room = step.room;
        reader?.follower?.resume();
        return;
      case 'close':
        reader?.follower?.close();
        this.#readers.delete(step.reader);
    }
  }

  #follow(id: number, from: number): void {
    const reader = new CheckingReader(this.#truth, from);
    this.#readers.set(id, reader);
    reader.follower = this.#journal.follow({ sessionId: SESSION, from }, reader);
  }

  /** A run that can write, opened anew if its session has failed. */
  async #run(index: number): Promise<RunJournal> {
    const known = this.#runs[index];
    if (known !== undefined && (await isAlive(known))) return known;
    await this.#answerAll();
    await known?.release();
    const run = await this.#journal.openRun(SESSION, this.#runIds[index] as string);
    this.#runs[index] = run;
    return run;
  }

  async #trim(through: number): Promise<void> {
    this.#truth.floor = Math.max(this.#truth.floor, through);
    this.#truth.floor = Math.max(through, await this.#journal.trim(SESSION, through));
  }

  /** Readers come back to the next process with the place they had reached. */
  #crash(): void {
    this.#crashes += 1;
    for (const { follower } of this.#readers.values()) follower?.close();
    this.#turns = new Turns();
    this.#runs.fill(undefined);
    this.#store = this.#openStore();
    this.#journal = this.#openJournal();
    for (const [id, { next }] of [...this.#readers]) this.#follow(id, next);
  }

  /** Everything under way ends well and every reader makes room. */
  async #quiet(): Promise<void> {
    this.#store.held = false;
    this.#store.fates = [];
    await this.#answerAll();
    for (const reader of this.#readers.values()) {
      reader.room = Number.POSITIVE_INFINITY;
      reader.follower?.resume();
    }
    await this.#turns.all();
    const last = await this.#run(0);
    last.text('the last');
    await Promise.all([last.flushed(), this.#turns.all()]);
  }

  async #answerAll(): Promise<void> {
    const { held } = this.#store;
    this.#store.held = false;
    await this.#store.answer();
    await this.#turns.all();
    this.#store.held = held;
  }

  async #check(): Promise<void> {
    const head = this.#head();
    expect(this.#thrown).toEqual([]);
    expect(await this.#journal.head(SESSION)).toBe(head);
    for (const { next } of this.#readers.values()) expect(next).toBe(Math.max(next, head + 1));
    const all = [...this.#truth.lines.values()].map((line) => JSON.parse(line) as Envelope);
    expect(denseSeq(all)).toEqual([]);
    expect(oneTerminal(all)).toEqual([]);
    const stored = await this.#journal.read(SESSION, 1, 10_000);
    for (const { seq, json } of stored) expect(json).toBe(this.#truth.lines.get(seq));
    expect(stored.at(-1)?.seq).toBe(head);
    await this.#journal.close();
  }

  #head(): number {
    return this.#truth.lines.size;
  }

  #openStore(): TrickyStore {
    const engine = this.#open();
    this.#opened.push(engine);
    const store = trickyStore(engine);
    store.onWritten = (part, outcome) => this.#note(part, outcome);
    return store;
  }

  #openJournal(): Journal {
    const { schedule } = this.#turns;
    return createJournal({
      store: this.#store,
      // A clock for each process: the dead one's beat with it. The next one starts a minute later.
      clock: createVirtualClock(1_700_000_000_000 + 60_000 * this.#crashes),
      ownerId: `process ${this.#crashes}`,
      schedule,
      limits: { pageEntriesMax: 3 },
      // A reader's expectation that fails is thrown inside the journal, which logs it.
      log: { warn: () => {}, error: (fields) => this.#noteThrown(fields) },
    });
  }

  #noteThrown(fields: object): void {
    const { err } = fields as { err?: Error };
    if (err?.name === 'AssertionError') this.#thrown.push(err);
  }

  #note(part: AppendPart, { status }: AppendOutcome): void {
    if (status === 'fenced' || status === 'conflict') return;
    const lines = part.count === 0 ? [] : part.body.split('\n');
    expect(lines).toHaveLength(part.count);
    if (part.terminal !== undefined && status === 'written') lines.push(part.terminal.line);
    lines.forEach((line, i) => {
      const seq = part.firstSeq + i;
      expect(seq).toBe(this.#head() + 1);
      this.#truth.lines.set(seq, line);
    });
  }
}

/** `flushed` rejects at once for a session that has failed and is pending or resolved otherwise. */
async function isAlive(run: RunJournal): Promise<boolean> {
  const alive = run.flushed().then(
    () => true,
    () => false,
  );
  return Promise.race([alive, microtasks().then(() => true)]);
}
