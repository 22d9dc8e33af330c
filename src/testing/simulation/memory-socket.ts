import { Duplex } from 'node:stream';

/** Bytes that a socket holds before its peer must read, each way: little, so that slow readers show. */
const HELD_BYTES = 2_048;

/**
 * One end of a connection within the process, as far as Node's HTTP asks anything of a socket. What one
 * end writes the other reads; a write is over when the other end has room for it.
 */
export class MemorySocket extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  readonly remotePort = 1;
  #peer: MemorySocket | undefined;
  #taken = 0;
  /** Called when the peer reads on. */
  #room: (() => void) | undefined;
  #silent = false;

  private constructor() {
    super({ readableHighWaterMark: HELD_BYTES, writableHighWaterMark: HELD_BYTES });
    this.on('error', () => {}); // 'close' follows.
  }

  static pair(): readonly [MemorySocket, MemorySocket] {
    const [one, other] = [new MemorySocket(), new MemorySocket()];
    one.#peer = other;
    other.#peer = one;
    return [one, other];
  }

  /** As of a socket of Node: with what is not written yet. */
  get bytesWritten(): number {
    return this.#taken + this.writableLength;
  }

  /** The machine of this end is gone: the other end hears nothing any more, and its bytes go nowhere. */
  vanish(): void {
    this.pause();
    this.#silent = true;
  }

  override _read(): void {
    const peer = this.#peer;
    if (peer === undefined) return;
    const room = peer.#room;
    peer.#room = undefined;
    room?.();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    const peer = this.#peer;
    if (peer === undefined || peer.destroyed) return done(broken());
    // Its length counts as taken when it is: until then it stands in `writableLength`.
    const taken = () => {
      this.#taken += chunk.length;
      done();
    };
    if (!peer.#silent && peer.push(chunk)) process.nextTick(taken);
    else this.#room = taken;
  }

  override _final(done: () => void): void {
    this.#peer?.push(null);
    done();
  }

  /** A connection that is cut is reset at the other end, unless nobody is there to tell. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const peer = this.#peer;
    // What was ended in order is still read to its end.
    if (peer !== undefined && !this.#silent && !this.writableFinished) {
      process.nextTick(() => peer.destroy(broken()));
    }
    done(error);
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

const broken = (): Error =>
  Object.assign(new Error('The connection was reset.'), { code: 'ECONNRESET' });
