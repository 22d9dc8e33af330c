import type { Target } from './acts/api.ts';
import type { Timers } from './acts/within.ts';
import type { ChildServer } from './child-server.ts';
import type { Kit } from './kit/kit.ts';
import type { Verdict } from './report.ts';

export interface ConformanceOptions {
  readonly target: Target;
  readonly kit: Kit;
  /** Some of `FEATURES`. */
  readonly features: readonly string[];
  /** Starts one more server that the kit may signal; left out where the server is not ours. */
  readonly startServer?: (() => Promise<ChildServer>) | undefined;
  readonly fetch: typeof fetch;
  readonly timers: Timers;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly onVerdict?: (verdict: Verdict) => void;
}
