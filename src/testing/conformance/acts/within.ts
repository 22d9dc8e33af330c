import type { Clock } from '../../../clock.ts';

export type Timers = Pick<Clock, 'setTimeout' | 'clearTimeout'>;

export interface Bound {
  readonly ms: number;
  readonly timers: Timers;
  readonly signal: AbortSignal;
}

/** Gives `use` a signal that aborts with the bound's own one, or when the time is over. */
export async function within<T>(
  { ms, timers, signal }: Bound,
  use: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const timer = timers.setTimeout(() => over.abort(new Error(`not within ${ms} ms`)), ms);
  try {
    return await use(AbortSignal.any([signal, over.signal]));
  } finally {
    timers.clearTimeout(timer);
  }
}
