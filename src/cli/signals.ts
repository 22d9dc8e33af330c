import type { RunningServer, SignalSource, StopSignal } from './io.ts';

const SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM'];

/** The shell's convention: 128 and the signal's number. */
const EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

export interface SignalRelay {
  /** Hands over what came so far, then each signal as it comes. */
  attach(server: RunningServer): void;
  /** Resolves with an exit code at the second signal of a server that is still not up. */
  readonly abandoned: Promise<number>;
  /** Gives the signals back their usual effect. */
  close(): void;
}

/**
 * Takes the process's stop signals from now on, so that one that comes while the server starts is
 * neither lost nor ends the process halfway.
 */
export function relaySignals(source: SignalSource): SignalRelay {
  const waiting: StopSignal[] = [];
  const { promise: abandoned, resolve: abandon } = Promise.withResolvers<number>();
  let server: RunningServer | undefined;
  const listeners = SIGNALS.map((signal) => {
    const listener = (): void => {
      if (server !== undefined) server.shutdown(signal);
      else if (waiting.push(signal) > 1) abandon(EXIT_CODES[signal]);
    };
    source.on(signal, listener);
    return () => source.off(signal, listener);
  });
  return {
    attach: (running) => {
      server = running;
      for (const signal of waiting.splice(0)) running.shutdown(signal);
    },
    abandoned,
    close: () => {
      for (const remove of listeners) remove();
    },
  };
}
