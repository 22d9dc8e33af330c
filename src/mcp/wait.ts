import type { Clock } from '../clock.ts';

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A promise with its two ends. A rejection that nobody waits for is not an unhandled one. */
export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** Settles with the promise, or with `fallback` when it takes longer than `ms`. */
export async function within<T, F>(
  promise: Promise<T>,
  { clock, ms, fallback }: { clock: Clock; ms: number; fallback: F },
): Promise<T | F> {
  const late = deferred<F>();
  const timer = clock.setTimeout(() => late.resolve(fallback), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clock.clearTimeout(timer);
  }
}

/**
 * Settles with the promise, or rejects with the signal's reason. The listener goes with the wait,
 * so that a long-lived signal gathers none.
 */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => {});
  signal.throwIfAborted();
  const aborted = deferred<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
