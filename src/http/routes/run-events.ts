import type { RouterContext } from '@koa/router';
import { RunNotFoundError } from '../../errors.ts';
import type { RunRecord, SupervisorHandle } from '../../handle.ts';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { hasEnded } from '../end-watch.ts';
import { openEventStream } from '../event-stream.ts';
import { retryLine } from '../frame.ts';
import { runIdOf } from '../params.ts';
import { RunFeed } from '../run-feed.ts';
import type { SseStream } from '../sse.ts';
import {
  answerHead,
  checkReached,
  type EventView,
  framesOf,
  gapFrame,
  parseView,
  RETRY_MS,
} from './event-view.ts';

/**
 * `GET /v1/runs/{id}/events`: the run's entries as server-sent events, `id:` is the `seq`. Ends
 * after the terminal entry; 204 when the client has seen that already, which stops a browser from
 * coming back.
 */
export function runEvents(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  return async (ctx) => {
    const handle = handleOf(ctx, deps);
    const runId = runIdOf(ctx);
    const view = parseView(ctx);
    const record = await recordAt(runId, view, handle);
    const from = Math.max(view.from ?? 0, record.first_seq);
    if (hasEnded(record) && from > record.last_seq) ctx.status = 204;
    else if (ctx.method === 'HEAD') answerHead(ctx);
    else stream(ctx, { record, view, from }, { ...deps, handle });
  };
}

/**
 * The record, read after the journal's head when there is a cursor: then a run that is still live
 * ends beyond the head, so a cursor up to there cannot miss its end and wait for ever.
 */
async function recordAt(
  runId: string,
  view: EventView,
  handle: SupervisorHandle,
): Promise<RunRecord> {
  const known = await handle.record(runId);
  if (known === undefined) throw new RunNotFoundError(runId);
  if (view.from === undefined) return known;
  const head = await handle.journal.head(known.session_id);
  const record = (await handle.record(runId)) ?? known;
  if (!hasEnded(record)) checkReached(view, head);
  return record;
}

interface Wanted {
  readonly record: RunRecord;
  readonly view: EventView;
  readonly from: number;
}

function stream(ctx: RouterContext, { record, view, from }: Wanted, deps: HttpDeps): void {
  const { handle, clock, log } = deps;
  const { session_id: sessionId, run_id: runId } = record;
  const sse = openEventStream(ctx, { about: { run_id: runId }, deps });
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
      gap: (gap) => {
        const place = { session_id: sessionId, run_id: runId, at: clock.now() };
        sse.send(gapFrame(gap, place, view));
      },
      // A client that is cut comes back, and is told then what became of the run.
      lost: () => sse.destroy(),
    },
  );
  sse.onDrain(() => feed.resume());
  sse.onClose(() => feed.close());
}

/**
 * A claim holds the run's right to go on. A run that ends or parks takes none any more, and its
 * reader is one like any other: only counted, so that reading a run never changes it.
 */
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
