import { publicSessionId } from '../session-key.ts';
import type {
  AppendPart,
  EndedApprovalLine,
  Lease,
  RunLine,
  TerminalLine,
} from '../stores/store.ts';
import type { TerminalEvent } from './events.ts';
import type { StoredEntry } from './reader.ts';

/** What a session tells a run of it. */
export interface SessionRun {
  readonly runId: string;
  failed(error: Error): void;
}

export interface Settlement {
  readonly won: boolean;
  /** The terminal entry of the run, whoever wrote it. */
  readonly seq: number;
}

/** What is stored in the same transaction as the terminal entry, if that one is. */
export interface LastWords extends Pick<TerminalLine, 'transcript' | 'log' | 'parked'> {
  /** Makes the run's last record, a JSON text. */
  readonly record?: (seq: number, at: number) => string;
}

/** A terminal event that waits for its turn; its `seq` is minted when it goes to the store. */
export interface SettleRequest {
  readonly runId: string;
  readonly event: TerminalEvent;
  readonly eventJson: string;
  readonly last: LastWords;
  readonly resolve: (settlement: Settlement) => void;
  readonly reject: (error: Error) => void;
}

interface Waiter {
  readonly seq: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * The writing side of one session while runs of it are open here.
 *
 * S1. `next` is minted here alone and only while `failure` is undefined.
 * S2. Everything up to `durable` is in the store; what lies between it and `next` is queued or under
 *     way, in order.
 * S3. After a failure nothing is queued and nothing is minted: the entries under way are lost
 *     together, so the store never has a hole. A new session object starts from the store's head.
 */
export class Session {
  /** Where it is stored. */
  readonly id: string;
  /** As its tenant knows it, and as its entries name it. */
  readonly publicId: string;
  readonly lease: Lease;
  readonly runs = new Set<SessionRun>();
  /** Minted and not yet given to the store. */
  queue: StoredEntry[] = [];
  /** Records that go with the next entries. */
  records: RunLine[] = [];
  /** Checkpoints that go with the next entries. */
  checkpoints: NonNullable<AppendPart['checkpoints']>[number][] = [];
  /** Approvals that have ended, as the next entries tell. */
  endedApprovals: EndedApprovalLine[] = [];
  /** The parked run that one of these goes on with; it goes with that run's first entry. */
  continues: AppendPart['continues'];
  readonly settles: SettleRequest[] = [];
  next: number;
  durable: number;
  /** When others may take the session, if no renewal succeeds. Epoch milliseconds. */
  expiresAt: number;
  failure: Error | undefined;
  /** Whether the writer has it on its list. */
  listed = false;
  /** Set while the last run has gone and the lease is being given back. */
  leaving: Promise<void> | undefined;
  readonly #waiters: Waiter[] = [];

  constructor(lease: Lease, head: number, expiresAt: number) {
    this.id = lease.key;
    this.publicId = publicSessionId(lease.key);
    this.lease = lease;
    this.next = head + 1;
    this.durable = head;
    this.expiresAt = expiresAt;
  }

  /** Resolves when everything up to `seq` is durable; rejects when the session fails first. */
  reached(seq: number): Promise<void> {
    if (this.durable >= seq) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ seq, resolve, reject }));
  }

  /** The store has everything up to `seq`. */
  advance(seq: number): void {
    this.durable = Math.max(this.durable, seq);
    while (this.#waiters[0] !== undefined && this.#waiters[0].seq <= seq) {
      this.#waiters.shift()?.resolve();
    }
  }

  /** Ends the session for its runs. Answers the characters of JSON that were queued. */
  fail(error: Error): number {
    if (this.failure !== undefined) return 0;
    this.failure = error;
    const dropped = this.queue.reduce((bytes, { json }) => bytes + json.length, 0);
    this.queue = [];
    for (const { reject } of this.settles.splice(0)) reject(error);
    for (const { reject } of this.#waiters.splice(0)) reject(error);
    for (const run of this.runs) run.failed(error);
    return dropped;
  }
}
