import type Koa from 'koa';
import type { HttpDeps } from './deps.ts';
import { type SseCut, SseStream } from './sse.ts';

export interface EventStreamOptions {
  /** Says in the log whose stream it is. */
  readonly about:
    | { readonly run_id: string }
    | { readonly session_id: string }
    | { readonly feed: 'approvals' };
  readonly deps: Pick<HttpDeps, 'config' | 'clock' | 'log' | 'pool'>;
  /** We end the connection ourselves; called before the response closes. */
  readonly onCut?: () => void;
}

/**
 * Opens a stream of events as configured; throws as `SseStream.open` does. A reader that is
 * cut is told of in the log, because to everybody else it looks like one that left.
 */
export function openEventStream(ctx: Koa.Context, options: EventStreamOptions): SseStream {
  const { about, deps, onCut } = options;
  const { config, clock, log, pool } = deps;
  const { heartbeatMs, sseBufferBytesMax: bufferBytesMax, sseStallMs: stallMs } = config;
  const cut = (because: SseCut): void => {
    log.warn({ ...about, because }, CUTS[because]);
    onCut?.();
  };
  return SseStream.open(ctx, { clock, heartbeatMs, bufferBytesMax, stallMs, pool, onCut: cut });
}

const CUTS: Readonly<Record<SseCut, string>> = {
  overflow: 'A reader was cut: more bytes wait for it than its buffer may hold.',
  stalled: 'A reader was cut: it has taken no bytes for too long.',
};
