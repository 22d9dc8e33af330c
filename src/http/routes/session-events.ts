import type { RouterContext } from '@koa/router';
import type { SupervisorHandle } from '../../handle.ts';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { badRequest } from '../errors.ts';
import { openEventStream } from '../event-stream.ts';
import { retryLine } from '../frame.ts';
import { GateWatch } from '../gate-watch.ts';
import type { SseStream } from '../sse.ts';
import { SteadyFollower } from '../steady-follower.ts';
import {
  answerHead,
  checkReached,
  type EventView,
  framesOf,
  gapFrame,
  parseView,
  RETRY_MS,
} from './event-view.ts';
import { sessionParam, sessionNotFound } from './sessions.ts';

interface Wanted {
  readonly sessionId: string;
  readonly view: EventView;
}

/**
 * `GET /v1/sessions/{id}/events`: the entries of all runs of the session, in one order. The stream
 * stays open and goes on with later runs; it never claims one. It ends when the server shuts down
 * and no run of the session is left.
 */
export function sessionEvents(deps: HttpDeps): (ctx: RouterContext) => Promise<void> {
  const gate = new GateWatch(deps);
  return async (ctx) => {
    const handle = handleOf(ctx, deps);
    const sessionId = sessionParam(ctx);
    const view = parseView(ctx);
    if (view.claim) throw claimOfRun();
    const session = await handle.getSession(sessionId);
    if (session === undefined) throw sessionNotFound(sessionId);
    checkReached(view, await handle.journal.head(sessionId));
    if (ctx.method === 'HEAD') answerHead(ctx);
    else stream(ctx, { sessionId, view }, { ...deps, handle, gate });
  };
}

function claimOfRun() {
  const message = 'claim is for one run; claim it at /v1/runs/{id}/events.';
  return badRequest(message, 'claim');
}

function stream(
  ctx: RouterContext,
  { sessionId, view }: Wanted,
  deps: HttpDeps & { readonly gate: GateWatch },
): void {
  const { handle, clock, log, gate } = deps;
  const about = { session_id: sessionId };
  const sse = openEventStream(ctx, { about, deps });
  sse.send(retryLine(RETRY_MS));
  sse.heartbeats();
  const feed = new SteadyFollower(
    { journal: handle.journal, clock, log, sessionId, from: Math.max(view.from ?? 0, 1), about },
    {
      entries: (batch) => {
        const frames = framesOf(batch, view);
        return frames === '' || sse.send(frames);
      },
      gap: (gap) => void sse.send(gapFrame(gap, { ...about, at: clock.now() }, view)),
    },
  );
  const unwatch = gate.watch(() => void endIfIdle(sse, { feed, sessionId, handle }));
  sse.onDrain(() => feed.resume());
  sse.onClose(() => {
    feed.close();
    unwatch();
  });
}

/** No run is started any more, so a session without a live one has told all, once it is read. */
async function endIfIdle(
  sse: SseStream,
  {
    feed,
    sessionId,
    handle,
  }: { feed: SteadyFollower; sessionId: string; handle: SupervisorHandle },
): Promise<void> {
  try {
    const session = await handle.getSession(sessionId);
    if (session !== undefined && session.live.length > 0) return;
    const head = await handle.journal.head(sessionId);
    if (feed.next > head) sse.finish('');
  } catch {
    // The store cannot say what is left; a client that is cut comes back to whoever has the rest.
    sse.destroy();
  }
}
