import type Koa from 'koa';
import type { TimerHandle } from '../../clock.ts';
import { TERMINAL_TYPES } from '../../journal/events.ts';
import type { Gap, StoredEntry } from '../../journal/reader.ts';
import type { HttpDeps } from '../deps.ts';
import { toHttpError, unavailable, type HttpError } from '../errors.ts';
import { openEventStream } from '../event-stream.ts';
import { RunFeed, type RunFeedSink } from '../run-feed.ts';
import type { SseStream } from '../sse.ts';
import type { ClaimedRun } from './claimed-run.ts';
import { endingOf } from './ending.ts';
import { ChatProjection, DONE, type ProjectionOptions } from './projection.ts';

/** Setup that takes longer than this goes on behind response headers. */
const HEADERS_AFTER_MS = 2_000;

export interface DeliverySources {
  readonly ctx: Koa.Context;
  readonly run: ClaimedRun;
  readonly projection: ProjectionOptions;
  /** The last entry before the first heartbeat, where it comes. */
  readonly openedBy: 'session_info' | 'mcp_status';
  readonly deps: HttpDeps;
}

/**
 * Writes one run's journal to one chat stream.
 *
 * D1. Headers go out with the run's first agent entry, or after {@link HEADERS_AFTER_MS}; a run
 *     that ends without an answer before that is an HTTP error.
 * D2. The first heartbeat follows the opening entries (`session_info`, and `mcp_status` where there
 *     are servers), or the headers when they went first.
 * D3. The frames of a batch are one `send`; the last go with `[DONE]` and the end in one write.
 * D4. A full stream pauses the reader until it drains.
 * D5. An answer that the journal cannot give whole ends with an error, and that is no departure of
 *     the caller.
 */
export class StreamDelivery implements RunFeedSink {
  /** Resolves when headers are out or the caller has left; rejects with what to answer instead. */
  readonly opened: Promise<void>;
  readonly #sources: DeliverySources;
  readonly #projection: ChatProjection;
  readonly #headersTimer: TimerHandle;
  readonly #feed: RunFeed | undefined;
  #resolve: () => void = () => {};
  #reject: (error: HttpError) => void = () => {};
  #stream: SseStream | undefined;
  #beating = false;
  #over = false;

  constructor(sources: DeliverySources) {
    const { run, projection } = sources;
    const { handle, clock, log } = sources.deps;
    const { sessionId, runId, seq } = run.started;
    this.#sources = sources;
    this.#projection = new ChatProjection(projection);
    this.opened = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#headersTimer = clock.setTimeout(() => this.#stopWaiting(), HEADERS_AFTER_MS);
    this.#feed = new RunFeed({ handle, clock, log, sessionId, runId, from: seq }, this);
    run.onLeave(() => this.#leave());
    if (this.#over) this.#feed?.close();
  }

  entries(batch: readonly StoredEntry[]): boolean {
    if (this.#over) return true;
    if (this.#beating) return this.#flow(batch);
    if (this.#stream !== undefined) return this.#begin(batch);
    const at = batch.findIndex((entry) => entry.kind === 'agent' || TERMINAL_TYPES.has(entry.type));
    const rest = at < 0 ? [] : batch.slice(at);
    return rest.length === 0 || !this.#openFor(rest) || this.#begin(rest);
  }

  gap({ from, to }: Gap): void {
    this.#lose(`entries ${from} to ${to}`);
  }

  lost(): void {
    this.#lose('its end');
  }

  /** The opening entries, then the heartbeat, then the rest. */
  #begin(batch: readonly StoredEntry[]): boolean {
    const { openedBy } = this.#sources;
    const stop = batch.findIndex(({ type }) => type === openedBy || !MAY_OPEN.has(type));
    if (stop < 0) return this.#flow(batch);
    const border = batch[stop]?.type === openedBy ? stop + 1 : stop;
    const hasRoom = this.#flow(batch.slice(0, border));
    this.#beat();
    return this.#flow(batch.slice(border)) && hasRoom;
  }

  #flow(batch: readonly StoredEntry[]): boolean {
    let frames = '';
    for (const entry of batch) frames += this.#projection.frames(entry);
    if (this.#projection.ended) return this.#finish(frames);
    return frames === '' || this.#stream?.send(frames) !== false;
  }

  #finish(frames: string): true {
    this.#close();
    this.#sources.run.settle();
    this.#stream?.finish(frames + DONE);
    return true;
  }

  #openFor(batch: readonly StoredEntry[]): boolean {
    const [first] = batch;
    if (first === undefined) return false;
    const ending = endingOf(first.event, this.#sources.projection);
    if (ending?.kind !== 'failure') return this.#open();
    this.#refuse(ending.error);
    return false;
  }

  /** False when the server has no place for the stream: the run has nobody to answer. */
  #open(): boolean {
    const { ctx, deps, run } = this.#sources;
    const about = { run_id: run.started.runId };
    try {
      this.#stream = openEventStream(ctx, { about, deps, onCut: () => run.leave('expired') });
    } catch (error) {
      this.#reject(toHttpError(error));
      run.leave('expired');
      return false;
    }
    this.#stream.onDrain(() => this.#feed?.resume());
    this.#resolve();
    return true;
  }

  #stopWaiting(): void {
    if (this.#stream !== undefined || this.#open()) this.#beat();
  }

  #beat(): void {
    if (this.#beating) return;
    this.#beating = true;
    this.#sources.deps.clock.clearTimeout(this.#headersTimer);
    this.#stream?.heartbeats();
  }

  #lose(what: string): void {
    if (this.#over) return;
    const { run, deps } = this.#sources;
    const { runId } = run.started;
    deps.log.warn({ run_id: runId, what }, 'A chat stream could not read all of its run.');
    const error = unavailable('store_unavailable', 'The rest of the answer could not be read.');
    if (this.#stream === undefined) this.#refuse(error);
    else this.#finish(this.#projection.failure(error));
  }

  #refuse(error: HttpError): void {
    this.#close();
    this.#sources.run.settle();
    this.#reject(error);
  }

  #leave(): void {
    this.#close();
    this.#resolve();
  }

  #close(): void {
    this.#over = true;
    this.#sources.deps.clock.clearTimeout(this.#headersTimer);
    this.#feed?.close();
  }
}

/** Entries that may stand before the first heartbeat. */
const MAY_OPEN: ReadonlySet<string> = new Set([
  'session_info',
  'mcp_status',
  'started',
  'observer_attached',
]);
