import type { ApprovalItem } from '../../approval-item.ts';
import type { RunRecord } from '../../handle.ts';
import { createCountingIds } from '../ids.ts';
import { SimDisk } from './disk.ts';
import { SimModels } from './model.ts';
import { SimProcess } from './process.ts';
import { seededRandom } from './random.ts';
import { Reach } from './reach.ts';
import { type Answered, ask, type Asked } from './request.ts';
import { SimReader } from './reader.ts';
import type { SimSettings } from './steps.ts';
import type { Executed } from './tools.ts';
import { WorldClock } from './world-clock.ts';

/** A decision that a person, or a webhook, sent, as the world knows it. */
export interface Said {
  readonly decisionId: string;
  readonly approved: boolean;
  /** Which of all that the world did and saw it was. */
  readonly order: number;
}

/** An answer that no client may be given, or a promise that was not kept, as a sentence. */
export interface Fault {
  readonly what: string;
}

/** Until a request is answered; with a disk that takes its time it may need time to pass. */
const SETTLES_PER_ANSWER = 6;

/** A stopped process is followed by another so much later. */
const RESTART_MS = 1_000;

/**
 * One simulated world: a machine with a disk, the processes that come and go on it, and all that is
 * around them. Everything in it happens by one clock and one seed.
 */
export class SimWorld {
  readonly clock = new WorldClock();
  readonly disk: SimDisk = new SimDisk(this.clock);
  readonly models = new SimModels();
  readonly reach = new Reach();
  readonly settings: SimSettings;
  readonly executed: Executed[] = [];
  readonly said: Said[] = [];
  readonly readers: SimReader[] = [];
  readonly processes: SimProcess[] = [];
  /** What went wrong while it was played. */
  readonly faults: Fault[] = [];
  /** Approvals that were ever seen, in the order in which they were. */
  readonly approvals = new Map<string, ApprovalItem>();
  /** Somebody took the leases of the process that is there. */
  isUsurped = false;
  #order = 0;
  #recovery: { recover: 'fail' | 'resume'; resumeOnStart: boolean } = {
    recover: 'fail',
    resumeOnStart: false,
  };
  readonly #ids = createCountingIds();
  readonly #random: () => number;

  constructor(settings: SimSettings) {
    this.settings = settings;
    this.#random = seededRandom(settings.seed);
  }

  /** The process that is there; one that has left is not followed before {@link ensureProcess}. */
  get process(): SimProcess {
    const process = this.processes.at(-1);
    if (process === undefined) throw new Error('nothing was booted');
    return process;
  }

  /** Counts what the world does and sees, so that it can be said what came first. */
  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  async boot(recovery = this.#recovery): Promise<void> {
    this.#recovery = recovery;
    this.isUsurped = false;
    const process = new SimProcess({
      number: this.processes.length,
      clock: this.clock,
      disk: this.disk,
      models: this.models,
      ids: this.#ids,
      random: this.#random,
      reach: this.reach,
      settings: this.settings,
      ...recovery,
      executed: (execution) => this.executed.push({ ...execution, order: this.nextOrder() }),
      hookAnswered: (decisionId, approved) => this.say(decisionId, approved),
    });
    this.processes.push(process);
    await this.settle();
  }

  /** How the next process recovers. */
  recoverBy(recovery: { recover: 'fail' | 'resume'; resumeOnStart: boolean }): void {
    this.#recovery = recovery;
  }

  get recovery(): { readonly recover: 'fail' | 'resume'; readonly resumeOnStart: boolean } {
    return this.#recovery;
  }

  /** A process that has left is followed by another. */
  async ensureProcess(): Promise<void> {
    if (this.process.alive) return;
    await this.clock.advance(RESTART_MS);
    await this.boot();
  }

  say(decisionId: string, approved: boolean): void {
    this.said.push({ decisionId, approved, order: this.nextOrder() });
  }

  fault(what: string): void {
    this.faults.push({ what });
  }

  /** Whether an answer may be held against the product: nothing is wrong around it. */
  get isWell(): boolean {
    const { alive, handle } = this.process;
    return this.disk.state.how === 'well' && !this.isUsurped && alive && handle.accepting;
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) await this.clock.settle();
  }

  /** Asks the process and looks at the answer; undefined where there is none, or none yet. */
  async ask(asked: Asked): Promise<Answered | undefined> {
    const socket = this.process.connect();
    if (socket === undefined) return undefined;
    const reply: { answer?: Answered | undefined; isOver: boolean } = { isOver: false };
    void ask(socket, asked).then((answer) => {
      reply.answer = answer;
      reply.isOver = true;
      if (answer !== undefined) this.#check(asked, answer.status, answer.text);
    });
    for (let turn = 0; turn < SETTLES_PER_ANSWER && !reply.isOver; turn += 1) {
      await this.clock.settle();
    }
    return reply.answer;
  }

  /** As {@link ask}, for an answer that is JSON and taken as what it should be. */
  async read<T>(path: string): Promise<T | undefined> {
    const answer = await this.ask({ method: 'GET', path });
    if (answer === undefined || answer.status !== 200) return undefined;
    return JSON.parse(answer.text) as T;
  }

  /** Runs, the newest first. */
  async runs(): Promise<readonly RunRecord[]> {
    const page = await this.read<{ data: RunRecord[] }>('/v1/runs?limit=50');
    return page?.data ?? [];
  }

  async pendingApprovals(): Promise<readonly ApprovalItem[]> {
    const page = await this.read<{ data: ApprovalItem[] }>('/v1/approvals?state=pending&limit=50');
    for (const item of page?.data ?? []) this.approvals.set(item.decision_id, item);
    return page?.data ?? [];
  }

  /** A new reader; undefined where nobody listens. */
  openReader(reader: SimReader, asked: Asked, onHeaders?: Parameters<SimReader['open']>[2]): void {
    const socket = this.process.connect();
    if (socket === undefined) return;
    reader.open(socket, asked, (response) => {
      this.#check(asked, response.statusCode ?? 0, '');
      onHeaders?.(response);
    });
    if (!this.readers.includes(reader)) this.readers.push(reader);
  }

  /** Nothing that a client does may show a fault of the server's own. */
  #check({ method, path }: Asked, status: number, text: string): void {
    this.reach.count('answers', `${method} ${shape(path)} ${status}`);
    const isChat = path === '/v1/chat/completions';
    const isExpected =
      status < 500 || status === 503 || (isChat && (status === 502 || status === 504));
    if (!isExpected) this.fault(`${method} ${path} is answered ${status}: ${text.slice(0, 300)}`);
  }
}

/** A path without its ids. */
export const shape = (path: string): string =>
  (path.split('?', 1)[0] ?? '').replaceAll(/[\da-f]{8}-[\da-f-]{27}|(?<=sessions\/)[^/]+/g, ':id');
