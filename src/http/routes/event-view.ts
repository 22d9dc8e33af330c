import type { RouterContext } from '@koa/router';
import type { Gap, StoredEntry } from '../../journal/reader.ts';
import { badRequest } from '../errors.ts';
import { dataFrame } from '../frame.ts';
import { queryFlag, querySeq, queryValue, seqOf } from '../params.ts';

/** How long a client waits before it comes back. A claim's grace window should exceed it. */
export const RETRY_MS = 1_000;

/** What a reader of entries asks for. */
export interface EventView {
  /** The first `seq` that the client wants; undefined is the first there is. */
  readonly from: number | undefined;
  /** Name of the parameter that said so. */
  readonly cursor: string | undefined;
  readonly claim: boolean;
  /** Adds `event:` lines, which clients without a listener for the name never see. */
  readonly named: boolean;
  readonly lifecycleOnly: boolean;
}

/**
 * `Last-Event-ID` beats `after`, which beats `from`; each is checked all the same.
 *
 * @throws {HttpError} 400 that names the parameter or header.
 */
export function parseView(ctx: RouterContext): EventView {
  const lastEventId = ctx.get('Last-Event-ID') || undefined;
  const cursors = [
    { cursor: 'Last-Event-ID', from: behind(seqOf('Last-Event-ID', lastEventId)) },
    { cursor: 'after', from: behind(querySeq(ctx, 'after')) },
    { cursor: 'from', from: querySeq(ctx, 'from') },
  ];
  const chosen = cursors.find(({ from }) => from !== undefined);
  const kind = queryValue(ctx, 'kind');
  if (kind !== undefined && kind !== 'lifecycle') {
    throw badRequest('kind is "lifecycle", or left out for all entries.', 'kind');
  }
  return {
    from: chosen?.from,
    cursor: chosen?.cursor,
    claim: queryFlag(ctx, 'claim'),
    named: queryFlag(ctx, 'named'),
    lifecycleOnly: kind !== undefined,
  };
}

const behind = (seq: number | undefined): number | undefined =>
  seq === undefined ? undefined : seq + 1;

/**
 * Refuses a place that the session has not reached: whatever stood there would never come, or would
 * be something else than the client means.
 *
 * @throws {HttpError} 400 that names the cursor.
 */
export function checkReached({ from, cursor }: EventView, head: number): void {
  if (from === undefined || from <= head + 1) return;
  const message = `${cursor} is beyond the newest entry of the session, which is ${head}.`;
  throw badRequest(message, cursor);
}

/** What a HEAD of a stream says: the headers, and no stream. */
export function answerHead(ctx: RouterContext): void {
  ctx.status = 200;
  ctx.set({
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-cache',
    'X-Accel-Buffering': 'no',
  });
}

/** The entries as frames; `''` when the view leaves all of them out. */
export function framesOf(
  batch: readonly StoredEntry[],
  { named, lifecycleOnly }: EventView,
): string {
  let frames = '';
  for (const { kind, type, seq: id, json } of batch) {
    if (lifecycleOnly && kind !== 'lifecycle') continue;
    frames += dataFrame(json, named ? { event: type, id } : { id });
  }
  return frames;
}

export interface GapPlace {
  readonly session_id: string;
  /** Absent in the stream of a whole session. */
  readonly run_id?: string;
  /** When it was noticed, epoch milliseconds. */
  readonly at: number;
}

/** Without an id, so that a client's own place in the stream stays what it has really read. */
export function gapFrame(gap: Gap, place: GapPlace, { named }: EventView): string {
  const { session_id, run_id, at } = place;
  const payload = { kind: 'lifecycle', event: { type: 'gap', from: gap.from, to: gap.to } };
  const json = JSON.stringify({ session_id, run_id, at, payload });
  return dataFrame(json, named ? { event: 'gap' } : {});
}
