import { OversizedMessageError } from './failures.ts';

/** Counts what arrives. Throws {@link OversizedMessageError} as soon as a message is over its bound. */
export interface MessageMeter {
  count(chunk: Uint8Array): void;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COLON = 0x3a;

/** The meter of a body that is one message. */
export class BodyMeter implements MessageMeter {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  count(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bytesMax) throw new OversizedMessageError(this.#bytesMax);
  }
}

/**
 * The meter of an event stream: each event is one message, and the stream as a whole may be endless.
 * A comment is counted while its line lasts and is free afterwards, because no parser keeps it.
 */
export class EventMeter implements MessageMeter {
  readonly #bytesMax: number;
  /** The ended lines of the event. */
  #eventBytes = 0;
  #lineBytes = 0;
  #isComment = false;
  #afterReturn = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  count(chunk: Uint8Array): void {
    for (const byte of chunk) this.#countByte(byte);
  }

  #countByte(byte: number): void {
    const endsReturn = this.#afterReturn && byte === LINE_FEED;
    this.#afterReturn = byte === CARRIAGE_RETURN;
    if (endsReturn) return;
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
      this.#endLine();
      return;
    }
    if (this.#lineBytes === 0) this.#isComment = byte === COLON;
    this.#lineBytes += 1;
    if (this.#eventBytes + this.#lineBytes > this.#bytesMax) {
      throw new OversizedMessageError(this.#bytesMax);
    }
  }

  /** An empty line ends the event. */
  #endLine(): void {
    if (this.#lineBytes === 0) this.#eventBytes = 0;
    else if (!this.#isComment) this.#eventBytes += this.#lineBytes;
    this.#lineBytes = 0;
  }
}
