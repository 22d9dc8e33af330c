/**
 * Splits the bytes of a server-sent event stream into the data of its events.
 *
 * S1. The events do not depend on where the network cut the bytes.
 * S2. Only whole lines are decoded, so a character cut in two is never decoded by halves.
 * S3. Memory is bounded: a line or an event over `frameBytesMax` is an error.
 *
 * It follows the WHATWG rules with one exception, made for the upstreams that end without it: the
 * end of the stream completes an event whose blank line is missing.
 */

import { FRAME_BYTES_MAX } from './limits.ts';
import { UnreadableAnswerError } from './unreadable.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const BOM = 0xfeff;
const NOTHING = Buffer.alloc(0);

/** `event` is empty where the stream names none. */
export type OnSseEvent = (data: string, event: string) => void;

/** A line or an event was larger than the splitter may hold. */
export class FrameTooLargeError extends UnreadableAnswerError {
  constructor(bytesMax: number) {
    super(`A frame of the stream is larger than ${bytesMax} bytes.`);
  }
}

export class SseSplitter {
  readonly #onEvent: OnSseEvent;
  readonly #frameBytesMax: number;
  /** The beginning of a line whose end has not come yet: the first `#carried` bytes. */
  #carry: Buffer = NOTHING;
  #carried = 0;
  #data: string | undefined;
  #event = '';
  #atStart = true;
  /** The last line ended with CR, so an LF that comes first belongs to it. */
  #skipLf = false;

  /** `onEvent` may throw to give up; the splitter must not be used after that. */
  constructor(onEvent: OnSseEvent, { frameBytesMax = FRAME_BYTES_MAX } = {}) {
    this.#onEvent = onEvent;
    this.#frameBytesMax = frameBytesMax;
  }

  /** Takes one network read. Throws {@link FrameTooLargeError} and what `onEvent` throws. */
  push(bytes: Buffer): void {
    const last = Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
    const from = last > 0 && this.#carried > 0 ? this.#completeCarry(bytes) : 0;
    if (from < last) this.#split(bytes.toString('utf8', from, last));
    if (last < bytes.length) this.#keep(bytes, last, bytes.length);
  }

  /** The stream is over: what has no line end or no blank line counts as whole. */
  end(): void {
    if (this.#carried > 0) this.#split(`${this.#takeCarry()}\n`);
    this.#dispatch();
  }

  /** Adds the rest of the line that was begun before. Returns where the next line starts. */
  #completeCarry(bytes: Buffer): number {
    const end = firstBreak(bytes) + 1;
    this.#keep(bytes, 0, end);
    this.#split(this.#takeCarry());
    return end;
  }

  #takeCarry(): string {
    const text = this.#carry.toString('utf8', 0, this.#carried);
    this.#carried = 0;
    return text;
  }

  #keep(bytes: Buffer, from: number, to: number): void {
    const need = this.#carried + to - from;
    if (need > this.#frameBytesMax) throw new FrameTooLargeError(this.#frameBytesMax);
    if (need > this.#carry.length) this.#grow(need);
    bytes.copy(this.#carry, this.#carried, from, to);
    this.#carried = need;
  }

  /** Doubling keeps a line that drips in byte by byte linear. */
  #grow(need: number): void {
    const larger = Buffer.allocUnsafe(Math.max(need, 2 * this.#carry.length));
    this.#carry.copy(larger, 0, 0, this.#carried);
    this.#carry = larger;
  }

  /** `text` is one line or more, the last one complete. */
  #split(text: string): void {
    let at = this.#startOf(text);
    const lines = text.includes('\r', at) ? this.#withLf(text) : text;
    for (let end = lines.indexOf('\n', at); end !== -1; end = lines.indexOf('\n', at)) {
      this.#line(lines, at, end);
      at = end + 1;
    }
  }

  #startOf(text: string): number {
    const skip = this.#atStart ? text.charCodeAt(0) === BOM : this.#skipLf && text[0] === '\n';
    this.#atStart = false;
    this.#skipLf = false;
    return skip ? 1 : 0;
  }

  #withLf(text: string): string {
    this.#skipLf = text.endsWith('\r');
    return text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  }

  #line(text: string, start: number, end: number): void {
    if (start === end) this.#dispatch();
    else if (text.startsWith('data:', start)) this.#addData(valueOf(text, start + 5, end));
    else if (text.startsWith('event:', start)) this.#event = valueOf(text, start + 6, end);
    else this.#bareField(text.slice(start, end));
  }

  /** A field without a colon has an empty value; comments and other fields mean nothing here. */
  #bareField(line: string): void {
    if (line === 'data') this.#addData('');
    else if (line === 'event') this.#event = '';
  }

  #addData(value: string): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    // A character counts as one byte here: what matters is the memory, and it has its bound.
    if (this.#data.length > this.#frameBytesMax) throw new FrameTooLargeError(this.#frameBytesMax);
  }

  #dispatch(): void {
    const data = this.#data;
    const event = this.#event;
    this.#data = undefined;
    this.#event = '';
    if (data !== undefined) this.#onEvent(data, event);
  }
}

function firstBreak(bytes: Buffer): number {
  const lf = bytes.indexOf(LF);
  const cr = bytes.indexOf(CR);
  return lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
}

/** One space after the colon belongs to the syntax. */
function valueOf(text: string, start: number, end: number): string {
  return text.slice(text.charCodeAt(start) === SPACE ? start + 1 : start, end);
}
