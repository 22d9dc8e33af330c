import type { Socket } from 'node:net';
import { type Clock, steadyNow, type TimerHandle } from '../clock.ts';

/** How often a stall is looked for within its bound, so that it is noticed at most a quarter late. */
const CHECKS = 4;

export interface StallWatchOptions {
  readonly clock: Clock;
  readonly socket: Socket;
  /** How long a peer may take nothing while bytes wait for it. */
  readonly stallMs: number;
  readonly onStall: () => void;
}

/**
 * Notices a peer that takes no bytes. One timer looks now and then, so that a write costs nothing;
 * it rests while nothing waits.
 */
export class StallWatch {
  readonly #options: StallWatchOptions;
  #timer: TimerHandle | undefined;
  #takenBytes = 0;
  #takenAt = 0;

  constructor(options: StallWatchOptions) {
    this.#options = options;
  }

  /** To be called after each write. */
  watch(): void {
    if (this.#timer !== undefined) return;
    this.#note();
    this.#arm();
  }

  stop(): void {
    this.#options.clock.clearTimeout(this.#timer);
  }

  readonly #check = (): void => {
    const { clock, socket, stallMs, onStall } = this.#options;
    this.#timer = undefined;
    if (socket.destroyed || socket.writableLength === 0) return;
    if (this.#taken() !== this.#takenBytes) this.#note();
    else if (steadyNow(clock) - this.#takenAt >= stallMs) return onStall();
    this.#arm();
  };

  #arm(): void {
    const { clock, stallMs } = this.#options;
    this.#timer = clock.setTimeout(this.#check, Math.ceil(stallMs / CHECKS));
  }

  #note(): void {
    this.#takenBytes = this.#taken();
    this.#takenAt = steadyNow(this.#options.clock);
  }

  /** Changes whenever the operating system accepts bytes of this connection. */
  #taken(): number {
    const { socket } = this.#options;
    return socket.bytesWritten - socket.writableLength - queuedBytes(socket);
  }
}

/**
 * What is left of the write under way. Node counts a write as whole until its end, which would let
 * a slow peer in the middle of a large one look like a dead one; its own socket timeout looks here
 * too.
 */
function queuedBytes(socket: Socket): number {
  const handle = Reflect.get(socket, '_handle') as { writeQueueSize?: number } | null | undefined;
  return handle?.writeQueueSize ?? 0;
}
