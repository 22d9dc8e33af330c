import type { RouterContext } from '@koa/router';
import { RunNotFoundError } from '../../errors.ts';
import type { RunRecord } from '../../handle.ts';
import type { Gap, StoredEntry } from '../../journal/reader.ts';
import type { HttpDeps } from '../deps.ts';
import { hasEnded } from '../end-watch.ts';
import { badRequest } from '../errors.ts';
import { dataFrame, retryLine } from '../frame.ts';
import { queryFlag, queryValue } from '../params.ts';
import { RunFeed } from '../run-feed.ts';
import { openRunStream } from '../run-stream.ts';
import type { SseStream } from '../sse.ts';
import { runIdOf } from './runs.ts';

/** How long a client waits before it comes back. A claim's grace window should exceed it. */
const RETRY_MS = 1_000;

interface View {
  /** The first `seq` that the client wants; undefined is the run's own first. */
  readonly from: number | undefined;
  /** Name of the parameter that said so. */
  readonly cursor: string | undefined;
  readonly claim: boolean;
  /** Adds `event:` lines, which clients without a listener for the name never see. */
  readonly named: boolean;
  readonly lifecycleOnly: boolean;
}

/**
 * `GET /v1/runs/{id}/events`: the run's entries as server-sent events, `id:` is the `seq`. Ends
 * after the terminal entry; 204 when the client has seen that already, which stops a browser from
 * coming back.
 */
export function runEvents(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const runId = runIdOf(ctx);
    const view = parseView(ctx);
    const record = await recordAt(runId, view, deps);
    const from = Math.max(view.from ?? 0, record.first_seq);
    if (hasEnded(record) && from > record.last_seq) ctx.status = 204;
    else if (ctx.method === 'HEAD') answerHead(ctx);
    else stream(ctx, { record, view, from }, deps);
  };
}

/** `Last-Event-ID` beats `after`, which beats `from`; each is checked all the same. */
function parseView(ctx: RouterContext): View {
  const cursors = [
    {
      cursor: 'Last-Event-ID',
      from: after(ctx.get('Last-Event-ID') || undefined, 'Last-Event-ID'),
    },
    { cursor: 'after', from: after(queryValue(ctx, 'after'), 'after') },
    { cursor: 'from', from: seq(queryValue(ctx, 'from'), 'from') },
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

function after(text: string | undefined, name: string): number | undefined {
  const last = seq(text, name);
  return last === undefined ? undefined : last + 1;
}

function seq(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badRequest(`${name} is a sequence number: digits, as in the id of an event.`, name);
}

/**
 * The record, read after the journal's head when there is a cursor: then a run that is still live
 * ends beyond the head, so a cursor up to there cannot miss its end and wait for ever.
 */
async function recordAt(runId: string, view: View, { handle }: HttpDeps): Promise<RunRecord> {
  const known = await handle.record(runId);
  if (known === undefined) throw new RunNotFoundError(runId);
  if (view.from === undefined) return known;
  const head = await handle.journal.head(known.session_id);
  const record = (await handle.record(runId)) ?? known;
  if (!hasEnded(record) && view.from > head + 1) {
    const message = `${view.cursor} is beyond the newest entry of the session, which is ${head}.`;
    throw badRequest(message, view.cursor);
  }
  return record;
}

function answerHead(ctx: RouterContext): void {
  ctx.status = 200;
  ctx.set({
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-cache',
    'X-Accel-Buffering': 'no',
  });
}

interface Wanted {
  readonly record: RunRecord;
  readonly view: View;
  readonly from: number;
}

function stream(ctx: RouterContext, { record, view, from }: Wanted, deps: HttpDeps): void {
  const { handle, clock, log } = deps;
  const { session_id: sessionId, run_id: runId } = record;
  const sse = openRunStream(ctx, { runId, deps });
  attach(sse, { runId, claim: view.claim }, deps);
  sse.send(retryLine(RETRY_MS));
  sse.heartbeats();
  const feed = new RunFeed(
    { handle, clock, log, sessionId, runId, from },
    {
      entries: (batch, ended) => {
        const frames = framesOf(batch, view);
        if (ended) sse.finish(frames);
        return ended || frames === '' || sse.send(frames);
      },
      gap: (gap) => sse.send(gapFrame(gap, { record, view, at: clock.now() })),
      // A client that is cut comes back, and is told then what became of the run.
      lost: () => sse.destroy(),
    },
  );
  sse.onDrain(() => feed.resume());
  sse.onClose(() => feed.close());
}

/** A claim holds the run's right to go on; any other reader is only counted. */
function attach(
  sse: SseStream,
  { runId, claim }: { readonly runId: string; readonly claim: boolean },
  { handle, ids }: HttpDeps,
): void {
  const observerId = ids.observer();
  if (claim && handle.claim(runId, observerId)) {
    sse.onClose(() => {
      handle.release(runId, observerId, sse.cutBecause === undefined ? 'released' : 'expired');
    });
  } else {
    handle.observe(runId, 1);
    sse.onClose(() => handle.observe(runId, -1));
  }
}

function framesOf(batch: readonly StoredEntry[], { named, lifecycleOnly }: View): string {
  let frames = '';
  for (const { kind, type, seq: id, json } of batch) {
    if (lifecycleOnly && kind !== 'lifecycle') continue;
    frames += dataFrame(json, named ? { event: type, id } : { id });
  }
  return frames;
}

/** Without an id, so that a client's own place in the stream stays what it has really read. */
function gapFrame(
  { from, to }: Gap,
  { record, view, at }: { readonly record: RunRecord; readonly view: View; readonly at: number },
): string {
  const { session_id, run_id } = record;
  const payload = { kind: 'lifecycle', event: { type: 'gap', from, to } };
  const json = JSON.stringify({ session_id, run_id, at, payload });
  return dataFrame(json, view.named ? { event: 'gap' } : {});
}
