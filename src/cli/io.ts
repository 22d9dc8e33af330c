import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Environment } from '../config/templates.ts';
import type { Log } from '../log.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** A server that is up. `shutdown` may be called again: the second call hurries it. */
export interface RunningServer {
  readonly url: string;
  readonly stopped: Promise<{ readonly exitCode: number }>;
  shutdown(signal: StopSignal): void;
}

export type StartServer = (config: Config, deps?: { readonly log?: Log }) => Promise<RunningServer>;

/** Where the process's signals come from: `process` itself. */
export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

/** All that a command touches of the process, so that tests can stand in for it. */
export interface CliIo {
  out(text: string): void;
  err(text: string): void;
  /** Whether a person reads what goes to `err`. */
  readonly isTerminal: boolean;
  /** Columns of the terminal that `out` is; undefined when it is none. */
  columns(): number | undefined;
  /** Aborts when nobody reads `out` any more. */
  readonly outClosed: AbortSignal;
  readonly env: Environment;
  readonly cwd: string;
  readonly signals: SignalSource;
  /** Epoch milliseconds. */
  now(): number;
  readonly timers: Pick<Clock, 'setTimeout' | 'clearTimeout'>;
  readonly fetch: typeof fetch;
  /** Loaded when a server is wanted: it is most of the start-up time. */
  loadServer(): Promise<{ readonly startServer: StartServer }>;
}
