import type Koa from 'koa';
import type { HttpDeps } from './deps.ts';
import { type SseCut, SseStream } from './sse.ts';

export interface RunStreamOptions {
  readonly runId: string;
  readonly deps: Pick<HttpDeps, 'config' | 'clock' | 'log' | 'pool'>;
  /** We end the connection ourselves; called before the response closes. */
  readonly onCut?: () => void;
}

/**
 * Opens the stream of a run as configured; throws as `SseStream.open` does. A reader that is cut is
 * told of in the log, because to everybody else it looks like one that left.
 */
export function openRunStream(ctx: Koa.Context, options: RunStreamOptions): SseStream {
  const { runId, deps, onCut } = options;
  const { config, clock, log, pool } = deps;
  const { heartbeatMs, sseBufferBytesMax: bufferBytesMax, sseStallMs: stallMs } = config;
  const cut = (because: SseCut): void => {
    log.warn({ run_id: runId, because }, CUTS[because]);
    onCut?.();
  };
  return SseStream.open(ctx, { clock, heartbeatMs, bufferBytesMax, stallMs, pool, onCut: cut });
}

const CUTS: Readonly<Record<SseCut, string>> = {
  overflow: 'A reader was cut: more bytes wait for it than its buffer may hold.',
  stalled: 'A reader was cut: it has taken no bytes for too long.',
};
