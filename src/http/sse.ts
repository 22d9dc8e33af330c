import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type Koa from 'koa';
import { type Clock, steadyNow, type TimerHandle } from '../clock.ts';
import { isDisconnect } from './disconnect.ts';
import { HEARTBEAT } from './frame.ts';
import type { SsePool } from './sse-pool.ts';
import { StallWatch } from './stall-watch.ts';

/**
 * The class of `koa-sse-stream` as far as it is used here: a `Transform` of Node whose `send` this
 * module replaces. The package has no types.
 */
declare class LibraryStream {
  constructor(ctx: Koa.Context);
  send(frame: string): boolean;
  sendEnd(last?: string): void;
  end(last?: unknown): this;
  destroy(): this;
  get closed(): boolean;
  _transform(chunk: unknown, encoding: string, done: (error?: Error) => void): void;
  _destroy(error: Error | null, done: (error?: Error | null) => void): void;
}

const require = createRequire(import.meta.url);
const LibrarySse = require('koa-sse-stream/lib/sse.js') as typeof LibraryStream;

/** A writer is asked to stop when so many bytes wait; as much as a socket of Node holds. */
const HIGH_WATER_BYTES = 65_536;
/** Says that a chunked response is whole. */
const LAST_CHUNK = '0\r\n\r\n';
/** Between two probes of a silent peer; after a few unanswered ones the system ends the connection. */
const TCP_KEEP_ALIVE_MS = 15_000;

export interface SseOptions {
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** A stream that holds more unsent bytes when another frame comes is cut. */
  readonly bufferBytesMax: number;
  /** A peer that has taken no byte for this long, while some wait, is cut. */
  readonly stallMs: number;
  readonly pool: SsePool;
  /** We end the connection before its stream is complete; called before the response closes. */
  readonly onCut?: (because: SseCut) => void;
}

/**
 * Why we ended a connection before its stream was complete: bytes came faster than the peer took
 * them, or it took none at all.
 */
export type SseCut = 'overflow' | 'stalled';

/**
 * One open stream of server-sent events; the only user of `koa-sse-stream`.
 *
 * The library sets up the socket. What it writes itself is never sent: frames come complete from
 * `frame.ts` and go straight to the response, all of one tick in one write.
 *
 * E1. A place in the pool is taken before the first byte and given back when the response closes.
 * E2. Bytes held for a peer are at most `bufferBytesMax` and one frame.
 * E3. `finish` sends what is pending, its own frame and the end of the response in one write.
 * E4. A peer that leaves is told by `onClose`, never by an error.
 * E5. No timer outlives the response.
 * E6. A heartbeat never adds to what a slow peer has still to take: those bytes keep it alive.
 */
export class SseStream extends LibrarySse {
  readonly #options: SseOptions;
  readonly #ctx: Koa.Context;
  readonly #res: ServerResponse;
  readonly #stall: StallWatch;
  readonly #release: () => void;
  #framed = false;
  readonly #closeListeners: ((finished: boolean) => void)[] = [];
  #onDrain: (() => void) | undefined;
  #pending = '';
  #pendingBytes = 0;
  #scheduled = false;
  #full = false;
  #done = false;
  #ended = false;
  #cutBecause: SseCut | undefined;
  #beat: TimerHandle | undefined;
  #beatDueAt = 0;

  /**
   * Sends the headers and opens the stream; headers that the caller has set go out with them.
   * Throws `HttpError` 503 when the pool is full, an `Error` when the response has begun.
   */
  static open(ctx: Koa.Context, options: SseOptions): SseStream {
    if (ctx.res.headersSent)
      throw new Error('A stream cannot be opened in a response that has begun.');
    const release = options.pool.take();
    try {
      return new SseStream(ctx, options, release);
    } catch (error) {
      release();
      throw error;
    }
  }

  private constructor(ctx: Koa.Context, options: SseOptions, release: () => void) {
    super(ctx);
    this.#options = options;
    this.#ctx = ctx;
    this.#res = ctx.res;
    this.#release = release;
    const { clock, stallMs } = options;
    const { socket } = ctx.req;
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    this.#stall = new StallWatch({ clock, socket, stallMs, onStall: () => this.#cut('stalled') });
    this.#listen(ctx);
    ctx.respond = false;
    ctx.status = 200;
    ctx.set('Cache-Control', 'no-cache');
    ctx.remove('Connection');
    this.#res.flushHeaders();
    // Node's own framing makes four buffers and a gathering write of each chunk.
    this.#framed = this.#res.chunkedEncoding;
    this.#res.chunkedEncoding = false;
  }

  /**
   * Takes a complete frame. False says stop until `onDrain`: the peer is slow, or the stream is
   * closed.
   */
  override send(frame: string): boolean {
    // The library's constructor sends a greeting of its own before this object is ready.
    if (!(#res in this) || this.#done) return false;
    const held = this.bufferedBytes;
    if (held > this.#options.bufferBytesMax) return this.#cut('overflow');
    const bytes = Buffer.byteLength(frame);
    this.#pending += frame;
    this.#pendingBytes += bytes;
    if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(this.#flush);
    }
    if (held + bytes >= HIGH_WATER_BYTES) this.#full = true;
    return !this.#full;
  }

  /** Called whenever there is room again after `send` said false. A later listener replaces it. */
  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  /**
   * Called once when the response is over; `finished` says whether the peer was sent all of a
   * finished stream. Called soon when it is over already.
   */
  onClose(listener: (finished: boolean) => void): void {
    if (this.#ended) queueMicrotask(() => listener(this.#res.writableFinished));
    else this.#closeListeners.push(listener);
  }

  /** Sends a comment at once and then every `heartbeatMs`, unless it is full, until it closes. */
  heartbeats(): void {
    if (this.#done || this.#beat !== undefined) return;
    this.#beatDueAt = steadyNow(this.#options.clock);
    this.#sendBeat();
  }

  /** Ends the stream with a last frame. Later calls, and later frames, change nothing. */
  finish(last: string): void {
    if (this.#done) return;
    this.#stopSending();
    const rest = this.#pending + last;
    this.#pending = '';
    this.#pendingBytes = 0;
    this.#res.end(Buffer.from(this.#chunk(rest) + (this.#framed ? LAST_CHUNK : '')));
    this.#stall.watch();
  }

  override end(last?: unknown): this {
    this.finish(typeof last === 'string' ? last : '');
    return this;
  }

  override sendEnd(last = ''): void {
    this.finish(last);
  }

  /** True from `finish` on, and when the peer is gone. */
  override get closed(): boolean {
    return this.#done;
  }

  /** Bytes that are here and not yet with the operating system. */
  get bufferedBytes(): number {
    return this.#pendingBytes + this.#res.writableLength;
  }

  /** Set when we ended the connection ourselves. */
  get cutBecause(): SseCut | undefined {
    return this.#cutBecause;
  }

  /** Frames that are piped in: the same bounds, and the source is held back while it is full. */
  override _transform(chunk: unknown, _encoding: string, done: (error?: Error) => void): void {
    if (typeof chunk !== 'string' && !Buffer.isBuffer(chunk)) {
      done(new TypeError('A stream takes complete frames as text; build them with dataFrame.'));
      return;
    }
    if (this.send(String(chunk)) || this.#done) done();
    else this.#onDrain = done;
  }

  /** An error goes to the app and not on: as an event without a listener it would end the process. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (error !== null) this.#report(error);
    this.#stopSending();
    this.#res.destroy();
    done(null);
  }

  #listen(ctx: Koa.Context): void {
    this.#res.on('drain', this.#relieve);
    this.#res.on('error', () => {}); // 'close' follows and tells all there is to know.
    this.#res.once('close', this.#close);
    if (this.#res.destroyed) process.nextTick(this.#close);
    ctx.onerror = (error: Error | null) => {
      if (error === null || error === undefined) return;
      this.#report(error);
      this.#res.destroy();
    };
  }

  #report(error: Error): void {
    if (!isDisconnect(error)) this.#ctx.app.emit('error', error, this.#ctx);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#done || this.#pending === '') return;
    const frames = this.#pending;
    this.#pending = '';
    this.#pendingBytes = 0;
    const body = this.#chunk(frames);
    const isAscii = Buffer.byteLength(body) === body.length;
    // For a string Node counts characters, and every bound here is in bytes.
    const roomy = isAscii ? this.#res.write(body, 'latin1') : this.#res.write(Buffer.from(body));
    this.#stall.watch();
    if (!roomy) this.#full = true;
    else this.#relieve();
  };

  readonly #relieve = (): void => {
    if (!this.#full || this.#done) return;
    this.#full = false;
    this.#onDrain?.();
  };

  readonly #sendBeat = (): void => {
    const { clock, heartbeatMs } = this.#options;
    if (!this.#full) this.send(HEARTBEAT);
    // From the time it was due, so that lateness does not add up; a beat that was missed is not made up.
    const now = steadyNow(clock);
    this.#beatDueAt = Math.max(this.#beatDueAt + heartbeatMs, now);
    this.#beat = clock.setTimeout(this.#sendBeat, this.#beatDueAt - now);
  };

  /** The bytes of one chunk of the response, in HTTP's framing where the peer knows it. */
  #chunk(frames: string): string {
    if (!this.#framed || frames === '') return frames;
    return `${Buffer.byteLength(frames).toString(16)}\r\n${frames}\r\n`;
  }

  #cut(because: SseCut): false {
    this.#cutBecause = because;
    this.#stopSending();
    this.#options.onCut?.(because);
    this.#res.destroy();
    return false;
  }

  #stopSending(): void {
    this.#done = true;
    this.#options.clock.clearTimeout(this.#beat);
  }

  readonly #close = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.#stopSending();
    this.#pending = '';
    this.#stall.stop();
    this.#release();
    for (const listener of this.#closeListeners.splice(0)) listener(this.#res.writableFinished);
    this.destroy();
  };
}
