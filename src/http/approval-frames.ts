import type { ApprovalItem } from '../approval-item.ts';
import { dataFrame } from './frame.ts';

/** About what a reader needs to know of one frame that waits for it, beside the frame. */
const PLACE_BYTES = 128;

/** Text for the wire that may wait for many readers at once. */
export interface SharedFrame {
  /** What it is of. A reader waits for the newest of an id alone. */
  readonly id: string;
  readonly text: string;
  readonly bytes: number;
}

/** Somebody for whom frames wait. */
export interface FrameHolder {
  /** Others need the room. It must let go of every frame that it holds. */
  giveUp(): void;
}

/**
 * The frames that wait for any reader of approvals.
 *
 * AF1. Readers that wait for the same state of an approval hold the same text, and an item that is told
 *      to many is made into text once.
 * AF2. All that waits takes at most `bytesMax` bytes, texts counted once and a little for each reader's
 *      place. Where it would take more, the reader that waits for most gives up first.
 */
export class ApprovalFrames {
  readonly #bytesMax: number;
  readonly #made = new WeakMap<ApprovalItem, SharedFrame>();
  /** The frame of each id that was held last; some reader waits for it. */
  readonly #newest = new Map<string, SharedFrame>();
  /** How many wait for it. */
  readonly #waits = new Map<SharedFrame, number>();
  /** Bytes of the frames that each one waits for. */
  readonly #holders = new Map<FrameHolder, number>();
  #bytes = 0;

  constructor({ bytesMax }: { readonly bytesMax: number }) {
    this.#bytesMax = bytesMax;
  }

  /** What all readers together wait for, in bytes as {@link ApprovalFrames} counts them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The frame of an approval as it stands. */
  of(item: ApprovalItem): SharedFrame {
    const made = this.#made.get(item);
    if (made !== undefined) return made;
    const frame = this.named(item.decision_id, 'approval', item);
    this.#made.set(item, frame);
    return frame;
  }

  /** Any other frame, with `data` as JSON; `id` must be no approval's. */
  named(id: string, event: string, data: object): SharedFrame {
    const text = dataFrame(JSON.stringify(data), { event });
    const newest = this.#newest.get(id);
    return newest?.text === text ? newest : { id, text, bytes: Buffer.byteLength(text) };
  }

  /** Bytes of the frames that wait for `holder`, as if it shared none. */
  heldBy(holder: FrameHolder): number {
    return this.#holders.get(holder) ?? 0;
  }

  hold(frame: SharedFrame, holder: FrameHolder): void {
    const waits = this.#waits.get(frame) ?? 0;
    this.#waits.set(frame, waits + 1);
    this.#bytes += PLACE_BYTES;
    this.#holders.set(holder, this.heldBy(holder) + frame.bytes);
    if (waits > 0) return;
    this.#bytes += frame.bytes;
    this.#newest.set(frame.id, frame);
  }

  /** Of what `holder` holds. */
  release(frame: SharedFrame, holder: FrameHolder): void {
    const waits = (this.#waits.get(frame) ?? 0) - 1;
    this.#waits.set(frame, waits);
    this.#bytes -= PLACE_BYTES;
    this.#leave(holder, this.heldBy(holder) - frame.bytes);
    if (waits > 0) return;
    this.#waits.delete(frame);
    this.#bytes -= frame.bytes;
    if (this.#newest.get(frame.id) === frame) this.#newest.delete(frame.id);
  }

  /** Lets readers give up until what is left may wait. */
  makeRoom(): void {
    while (this.#bytes > this.#bytesMax) {
      const most = this.#greediest();
      if (most === undefined) return;
      most.giveUp();
    }
  }

  /** No frame is empty, so whoever waits for no bytes waits for nothing. */
  #leave(holder: FrameHolder, bytes: number): void {
    if (bytes > 0) this.#holders.set(holder, bytes);
    else this.#holders.delete(holder);
  }

  #greediest(): FrameHolder | undefined {
    let most: FrameHolder | undefined;
    for (const [holder, bytes] of this.#holders) {
      if (most === undefined || bytes > this.heldBy(most)) most = holder;
    }
    return most;
  }
}
