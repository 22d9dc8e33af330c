import type { RouterContext } from '@koa/router';
import type { ApprovalFilter } from '../../approval-item.ts';
import type { SupervisorHandle } from '../../handle.ts';
import { ApprovalFeed, WAITING_BYTES_MAX } from '../approval-feed.ts';
import { ApprovalFrames } from '../approval-frames.ts';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { type HttpError, unavailable } from '../errors.ts';
import { openEventStream } from '../event-stream.ts';
import { retryLine } from '../frame.ts';
import { GateWatch } from '../gate-watch.ts';
import { checkQueryKeys } from '../params.ts';
import type { SseStream } from '../sse.ts';
import { approvalFilterOf, FILTER_KEYS } from './approvals.ts';
import { answerHead, RETRY_MS } from './event-view.ts';

const ABOUT = { feed: 'approvals' } as const;

/**
 * `GET /v1/approvals/events`: the inbox as server-sent events. First each approval that matches, as
 * `event: approval`, then `event: approvals_ready` with how many of them are pending, then each one
 * that changes, as it stands then; with `state`, also the one that leaves that state.
 *
 * Frames have no ids, and `Last-Event-ID` means nothing here: whoever comes again is told again how
 * everything stands. So a reader that is too slow can be cut without losing anything. Reading claims
 * no run. The stream ends when the server shuts down and no approval of a live run is left in it.
 */
export function approvalEvents(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  const gate = new GateWatch(deps);
  const frames = new ApprovalFrames({ bytesMax: WAITING_BYTES_MAX });
  return async (ctx) => {
    checkQueryKeys(ctx, FILTER_KEYS);
    const filter = approvalFilterOf(ctx);
    if (ctx.method === 'HEAD') return answerHead(ctx);
    if (deps.pool.full) throw unavailable('too_many_streams', 'All places for streams are taken.');
    await stream(ctx, filter, { ...deps, handle: handleOf(ctx, deps), gate, frames });
  };
}

interface FeedDeps extends HttpDeps {
  readonly gate: GateWatch;
  readonly frames: ApprovalFrames;
}

/** The stream opens when the supervisor has told how things stand, so that a failure has a status. */
async function stream(ctx: RouterContext, filter: ApprovalFilter, deps: FeedDeps): Promise<void> {
  const { handle, config, log, gate, frames } = deps;
  const onOverflow = (sse: SseStream): void => {
    log.warn({ ...ABOUT, because: 'overflow' }, OVERFLOW);
    sse.destroy();
  };
  const { state } = filter;
  const { sseBufferBytesMax: bufferBytesMax } = config;
  const feed = new ApprovalFeed({ state, bufferBytesMax, frames, onOverflow });
  let unwatch = (): void => {};
  try {
    unwatch = await handle.watchApprovals(filter, feed);
    if (feed.isClosed) throw tooMany();
    attach(openEventStream(ctx, { about: ABOUT, deps }), { feed, unwatch, gate, handle });
  } catch (error) {
    // What it holds is taken from others.
    feed.close();
    unwatch();
    throw error;
  }
}

const tooMany = (): HttpError =>
  unavailable('too_many_approvals', 'More approvals match than one stream can bring; filter them.');

const OVERFLOW = 'A reader was cut: more approvals wait for it than may wait.';

interface Attached {
  readonly feed: ApprovalFeed;
  readonly unwatch: () => void;
  readonly gate: GateWatch;
  readonly handle: SupervisorHandle;
}

function attach(sse: SseStream, { feed, unwatch, gate, handle }: Attached): void {
  sse.send(retryLine(RETRY_MS));
  sse.heartbeats();
  const unwatchGate = gate.watch(() => {
    const isOver = handle.phase === 'gated' ? feed.isIdle : feed.isSent;
    if (isOver) sse.finish('');
  });
  sse.onDrain(() => feed.resume());
  sse.onClose(() => {
    feed.close();
    unwatch();
    unwatchGate();
  });
  feed.open(sse);
}
