import type { ApprovalItem, ApprovalState, ApprovalWatcher } from '../approval-item.ts';
import type { ApprovalFrames, FrameHolder, SharedFrame } from './approval-frames.ts';
import type { SseStream } from './sse.ts';

/** What the approvals that stand when a reader comes may take: more would never reach a slow one. */
const SNAPSHOT_BYTES_MAX = 67_108_864;

/** What may wait for all readers of a server together: what stands, twice over. */
export const WAITING_BYTES_MAX = 2 * SNAPSHOT_BYTES_MAX;

export interface ApprovalFeedOptions {
  /** The state that the reader wants to see; undefined is every one. */
  readonly state: ApprovalState | undefined;
  /** Bytes of changes that may wait for the reader beside what stood when it came. */
  readonly bufferBytesMax: number;
  /** Of all readers of the server. */
  readonly frames: ApprovalFrames;
  /** More waits for an open stream, or for all of them, than may. Called once; nothing is kept any more. */
  readonly onOverflow: (sse: SseStream) => void;
}

/**
 * Turns what is told of approvals into frames for one reader.
 *
 * P1. The first frames are of the approvals that stand; then one marks that these were all.
 * P2. A reader that wants one state hears, too, of the change by which an approval leaves it, else its
 *     picture of what is pending would be wrong for ever.
 * P3. For a slow reader only the newest of an approval waits. What waits is bounded in bytes, for one
 *     reader and for all, who hold their frames in common ({@link ApprovalFrames}).
 */
export class ApprovalFeed implements ApprovalWatcher, FrameHolder {
  readonly #options: ApprovalFeedOptions;
  /** Told, and undecided: they may change. The value says whether its run lives. */
  readonly #pending = new Map<string, boolean>();
  /** Frames that wait, by what they are of. */
  readonly #waiting = new Map<string, SharedFrame>();
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
    const frame = this.#options.frames.of(item);
    if (item.state === 'pending') this.#pending.set(frame.id, !item.parked);
    else this.#pending.delete(frame.id);
    this.#put(frame);
  }

  /** All that stood has been told: from now on it goes to `sse`, with the mark behind it. */
  open(sse: SseStream): void {
    const { bufferBytesMax, frames } = this.#options;
    this.#put(frames.named(READY, 'approvals_ready', { pending: this.#pending.size }));
    if (this.#closed) return this.#options.onOverflow(sse);
    this.#bytesMax = frames.heldBy(this) + bufferBytesMax;
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
    for (const frame of this.#waiting.values()) this.#options.frames.release(frame, this);
    this.#waiting.clear();
  }

  giveUp(): void {
    this.close();
    if (this.#sse !== undefined) this.#options.onOverflow(this.#sse);
  }

  #concerns({ decision_id: id, state: now }: ApprovalItem): boolean {
    const { state } = this.#options;
    return state === undefined || state === now || this.#pending.has(id);
  }

  /** One that waits already keeps its place. */
  #put(frame: SharedFrame): void {
    const { frames } = this.#options;
    const before = this.#waiting.get(frame.id);
    this.#waiting.set(frame.id, frame);
    frames.hold(frame, this);
    if (before !== undefined) frames.release(before, this);
    this.#flush();
    if (frames.heldBy(this) > this.#bytesMax) this.giveUp();
    frames.makeRoom();
  }

  #flush(): void {
    if (this.#sse === undefined) return;
    const { bufferBytesMax, frames } = this.#options;
    for (const [id, frame] of this.#waiting) {
      if (this.#full) return;
      this.#waiting.delete(id);
      frames.release(frame, this);
      if (id === READY) this.#bytesMax = bufferBytesMax;
      this.#full = !this.#sse.send(frame.text);
    }
  }
}

/** No decision id, so that it can wait among them. */
const READY = 'ready';
