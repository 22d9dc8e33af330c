import { EventEmitter, once } from 'node:events';
import type { Config } from '../../src/config/config.ts';
import type { CliIo, RunningServer, StopSignal } from '../../src/cli/io.ts';
import { runCli } from '../../src/cli/program.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';

/** A command line with everything around it replaced: output kept, server and signals by hand. */
export interface CliWorld {
  readonly io: CliIo;
  readonly signals: EventEmitter;
  /** Timers of the commands; they fire when a test lets them. */
  readonly clock: VirtualClock;
  /** Configurations a server was started with. */
  readonly started: Config[];
  /** Signals the server was told. */
  readonly told: StopSignal[];
  run(...argv: string[]): Promise<number>;
  out(): string;
  err(): string;
  /** Ends the server. */
  stop(exitCode: number): void;
  /** Lets time pass on the clock of the commands. */
  advance(ms: number): void;
  /** Nobody reads the output any more. */
  closeOutput(): void;
  /** Resolves when what was printed on either side holds `text`; resolves at once if it does. */
  printed(text: string): Promise<void>;
}

export interface CliWorldOptions {
  readonly env?: CliIo['env'];
  readonly cwd: string;
  /** Keeps the server from starting: waits for it, and fails when it rejects. */
  readonly before?: Promise<void>;
  /** Columns of the terminal that the output is; none by default. */
  readonly columns?: number;
  /** In place of the network. */
  readonly fetch?: CliIo['fetch'];
  /** Real timers, for tests over real sockets. */
  readonly timers?: CliIo['timers'];
}

const noNetwork: CliIo['fetch'] = async () => {
  throw new Error('A command used the network.');
};

export function createCliWorld(options: CliWorldOptions): CliWorld {
  const { env = {}, cwd, before, columns, fetch = noNetwork } = options;
  const printed = { out: '', err: '' };
  const prints = new EventEmitter();
  const print = (side: 'out' | 'err', text: string): void => {
    printed[side] += text;
    prints.emit('print');
  };
  const outClosed = new AbortController();
  const clock = createVirtualClock();
  let now = 0;
  const signals = new EventEmitter();
  const started: Config[] = [];
  const told: StopSignal[] = [];
  const stopped = Promise.withResolvers<{ exitCode: number }>();
  const startServer = async (config: Config): Promise<RunningServer> => {
    started.push(config);
    await before;
    signals.emit('started');
    return {
      url: 'http://127.0.0.1:4711',
      stopped: stopped.promise,
      shutdown: (signal) => void told.push(signal),
    };
  };
  const io: CliIo = {
    out: (text) => print('out', text),
    err: (text) => print('err', text),
    isTerminal: false,
    columns: () => columns,
    outClosed: outClosed.signal,
    env,
    cwd,
    signals,
    now: () => now,
    timers: options.timers ?? clock,
    fetch,
    loadServer: async () => ({ startServer }),
  };
  return {
    io,
    signals,
    clock,
    started,
    told,
    run: (...argv) => runCli(argv, io),
    out: () => printed.out,
    err: () => printed.err,
    stop: (exitCode) => stopped.resolve({ exitCode }),
    advance: (ms) => void (now += ms),
    closeOutput: () => outClosed.abort(),
    printed: async (text) => {
      while (!printed.out.includes(text) && !printed.err.includes(text))
        await once(prints, 'print');
    },
  };
}
