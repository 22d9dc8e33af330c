import type { IncomingHttpHeaders } from 'node:http';
import { type ChatDecoder, ErrorFrameError } from './chat-decoder.ts';
import type { BodyReader, ResponseHead } from './exchange.ts';
import type { FailureMapper } from './failures.ts';
import { asRecord, parseJson } from './json.ts';
import { ERROR_BODY_BYTES_MAX } from './limits.ts';
import { SseSplitter } from './sse-splitter.ts';
import { UnreadableAnswerError } from './unreadable.ts';

/** What the readers of one exchange share. */
export interface AnswerContext {
  readonly decoder: ChatDecoder;
  readonly failures: FailureMapper;
  /** Asked after each read. */
  readonly full: () => Promise<void> | undefined;
}

/** Chooses who reads a response: the answer of the model, or what stands in its place. */
export function readerFor(head: ResponseHead, context: AnswerContext): BodyReader {
  if (head.status < 200 || head.status > 299) return new ErrorReader(head, context.failures);
  const encoding = head.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw context.failures.noStream(`The answer is encoded as "${encoding}", unasked.`);
  }
  return isJson(head.headers) ? new ErrorReader(head, context.failures) : new AnswerReader(context);
}

const isJson = (headers: IncomingHttpHeaders): boolean =>
  /^application\/([\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '');

/** Reads a stream of events into the decoder. */
class AnswerReader implements BodyReader {
  readonly #decoder: ChatDecoder;
  readonly #failures: FailureMapper;
  readonly #splitter: SseSplitter;
  readonly full: () => Promise<void> | undefined;

  constructor({ decoder, failures, full }: AnswerContext) {
    this.#decoder = decoder;
    this.#failures = failures;
    this.full = full;
    this.#splitter = new SseSplitter((data, name) => decoder.event(data, name));
  }

  get done(): boolean {
    return this.#decoder.done;
  }

  get whole(): boolean {
    return this.#decoder.isComplete;
  }

  read(bytes: Buffer): void {
    try {
      this.#splitter.push(bytes);
      if (this.#decoder.done) this.#decoder.end();
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  end(cause?: Error): void {
    try {
      this.#finish(cause);
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  #finish(cause: Error | undefined): void {
    const leftOver = this.#readLeftOver();
    this.#decoder.end();
    if (this.#decoder.isComplete) return;
    const why = cause ?? leftOver ?? new Error('The stream ended.');
    throw this.#failures.cutShort(why, this.#decoder);
  }

  /** Half a frame at the end is no fault of its own: the answer was cut there. */
  #readLeftOver(): Error | undefined {
    try {
      this.#splitter.end();
      return undefined;
    } catch (error) {
      if (error instanceof UnreadableAnswerError) return error;
      throw error;
    }
  }

  /** Only the errors of reading are the upstream's; what the sink throws passes through. */
  #failureOf(error: unknown): unknown {
    if (error instanceof ErrorFrameError) return this.#failures.frame(error.payload, this.#decoder);
    if (error instanceof UnreadableAnswerError) return this.#failures.unreadable(error);
    return error;
  }
}

/** Collects the words of an error: a status that is none of success, or JSON instead of a stream. */
class ErrorReader implements BodyReader {
  readonly done = false;
  readonly whole = false;
  readonly #head: ResponseHead;
  readonly #failures: FailureMapper;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(head: ResponseHead, failures: FailureMapper) {
    this.#head = head;
    this.#failures = failures;
  }

  read(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > ERROR_BODY_BYTES_MAX) this.end();
  }

  /** A connection that died has told its status all the same. */
  end(): void {
    const body = Buffer.concat(this.#pieces).toString('utf8', 0, ERROR_BODY_BYTES_MAX);
    const { status, headers } = this.#head;
    if (status < 200 || status > 299) throw this.#failures.http({ status, headers, body });
    const payload = asRecord(parseJson(body))['error'];
    if (payload) throw this.#failures.frame(payload, { hasContent: false });
    throw this.#failures.noStream(
      'The answer is one JSON document, though a stream was asked for.',
    );
  }

  full(): undefined {
    return undefined;
  }
}
