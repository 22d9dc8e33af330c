import type { RunningServer, SignalSource, StopSignal } from './io.ts';

const SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM'];

/**
 * npm hands on to its script what a terminal sends to all its processes, so one Ctrl-C comes twice.
 * npm may be slow on a busy machine; a person who means it presses again.
 */
const ECHO_MS = 1_000;

/** The shell's convention: 128 and the signal's number. */
const EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

export interface SignalRelay {
  /** Hands over what came so far, then each signal as it comes. */
  attach(server: RunningServer): void;
  /** Resolves with an exit code at the second signal of a server that is still not up. */
  readonly abandoned: Promise<number>;
  /** Gives the signals back their usual effect, one that has just come a little later. */
  close(): void;
}

/**
 * Takes the process's stop signals from now on, so that one that comes while the server starts is
 * neither lost nor ends the process halfway. The same signal again within a second is the echo
 * of the one before. `now` gives milliseconds.
 */
export function relaySignals(source: SignalSource, now: () => number): SignalRelay {
  const waiting: StopSignal[] = [];
  const { promise: abandoned, resolve: abandon } = Promise.withResolvers<number>();
  let server: RunningServer | undefined;
  const listeners = SIGNALS.map((signal) => {
    let takenAt = -Infinity;
    const isEcho = (): boolean => now() >= takenAt && now() - takenAt < ECHO_MS;
    const listener = (): void => {
      if (isEcho()) return;
      takenAt = now();
      if (server !== undefined) server.shutdown(signal);
      else if (waiting.push(signal) > 1) abandon(EXIT_CODES[signal]);
    };
    source.on(signal, listener);
    const remove = (): void => void source.off(signal, listener);
    // The echo of a signal that has done its work already must not kill the process on its way out.
    return () => (isEcho() ? void setTimeout(remove, ECHO_MS).unref() : remove());
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
