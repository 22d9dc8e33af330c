import type { ApprovalItem, ApprovalState, ApprovalWatcher } from '../approval-item.ts';
import { dataFrame } from './frame.ts';
import type { SseStream } from './sse.ts';

/** What the approvals that stand when a reader comes may take: more would never reach a slow one. */
const SNAPSHOT_BYTES_MAX = 67_108_864;

export interface ApprovalFeedOptions {
  /** The state that the reader wants to see; undefined is every one. */
  readonly state: ApprovalState | undefined;
  /** Bytes of changes that may wait for the reader beside what stood when it came. */
  readonly bufferBytesMax: number;
  /** More waits for an open stream than may. Called once; nothing is kept any more. */
  readonly onOverflow: (sse: SseStream) => void;
}

/**
 * Turns what is told of approvals into frames for one reader.
 *
 * P1. The first frames are of the approvals that stand; then one marks that these were all.
 * P2. A reader that wants one state hears, too, of the change by which an approval leaves it, else its
 *     picture of what is pending would be wrong for ever.
 * P3. For a slow reader only the newest of an approval waits. What waits is bounded in bytes.
 */
export class ApprovalFeed implements ApprovalWatcher {
  readonly #options: ApprovalFeedOptions;
  /** Told, and undecided: they may change. The value says whether its run lives. */
  readonly #pending = new Map<string, boolean>();
  /** Frames that wait, by what they are of. */
  readonly #waiting = new Map<string, string>();
  #waitingBytes = 0;
  #bytesMax = SNAPSHOT_BYTES_MAX;
  #sse: SseStream | undefined;
  /** The stream has said to stop. */
  #full = false;
  #closed = false;

  constructor(options: ApprovalFeedOptions) {
    this.#options = options;
  }

  /** Whether the reader has all, and no approval of a live run is left that may change. */
  get isIdle(): boolean {
    return this.isSent && ![...this.#pending.values()].includes(true);
  }

  /** Whether it has been closed, by its owner or because too much waited. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether nothing waits for the reader. */
  get isSent(): boolean {
    return this.#waiting.size === 0;
  }

  changed(item: ApprovalItem): void {
    if (this.#closed || !this.#concerns(item)) return;
    const { decision_id: id, state, parked } = item;
    if (state === 'pending') this.#pending.set(id, !parked);
    else this.#pending.delete(id);
    this.#put(id, dataFrame(JSON.stringify(item), { event: 'approval' }));
  }

  /** All that stood has been told: from now on it goes to `sse`, with the mark behind it. */
  open(sse: SseStream): void {
    const { bufferBytesMax } = this.#options;
    this.#put(READY, readyFrame(this.#pending.size));
    this.#bytesMax = this.#waitingBytes + bufferBytesMax;
    this.#sse = sse;
    this.#flush();
  }

  /** The reader has room again. */
  resume(): void {
    this.#full = false;
    this.#flush();
  }

  close(): void {
    this.#closed = true;
    this.#pending.clear();
    this.#waiting.clear();
    this.#waitingBytes = 0;
  }

  #concerns({ decision_id: id, state: now }: ApprovalItem): boolean {
    const { state } = this.#options;
    return state === undefined || state === now || this.#pending.has(id);
  }

  /** One that waits already keeps its place. */
  #put(id: string, frame: string): void {
    const before = this.#waiting.get(id);
    this.#waitingBytes += Buffer.byteLength(frame) - Buffer.byteLength(before ?? '');
    this.#waiting.set(id, frame);
    this.#flush();
    if (this.#waitingBytes <= this.#bytesMax) return;
    this.close();
    if (this.#sse !== undefined) this.#options.onOverflow(this.#sse);
  }

  #flush(): void {
    if (this.#sse === undefined) return;
    for (const [id, frame] of this.#waiting) {
      if (this.#full) return;
      this.#waiting.delete(id);
      this.#waitingBytes -= Buffer.byteLength(frame);
      if (id === READY) this.#bytesMax = this.#options.bufferBytesMax;
      this.#full = !this.#sse.send(frame);
    }
  }
}

/** No decision id, so that it can wait among them. */
const READY = 'ready';

const readyFrame = (pending: number): string =>
  dataFrame(JSON.stringify({ pending }), { event: 'approvals_ready' });
