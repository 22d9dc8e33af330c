import { EventEmitter } from 'node:events';
import type { Config } from '../../src/config/config.ts';
import type { CliIo, RunningServer, StopSignal } from '../../src/cli/io.ts';
import { runCli } from '../../src/cli/program.ts';

/** A command line with everything around it replaced: output kept, server and signals by hand. */
export interface CliWorld {
  readonly io: CliIo;
  readonly signals: EventEmitter;
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
}

export interface CliWorldOptions {
  readonly env?: CliIo['env'];
  readonly cwd: string;
  /** Keeps the server from starting: waits for it, and fails when it rejects. */
  readonly before?: Promise<void>;
}

export function createCliWorld({ env = {}, cwd, before }: CliWorldOptions): CliWorld {
  const printed = { out: '', err: '' };
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
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
    isTerminal: false,
    env,
    cwd,
    signals,
    now: () => now,
    loadServer: async () => ({ startServer }),
  };
  return {
    io,
    signals,
    started,
    told,
    run: (...argv) => runCli(argv, io),
    out: () => printed.out,
    err: () => printed.err,
    stop: (exitCode) => stopped.resolve({ exitCode }),
    advance: (ms) => void (now += ms),
  };
}
