import {
  fromCallback,
  fromPromise,
  type CallbackActorLogic,
  type EventObject,
  type NonReducibleUnknown,
  type PromiseActorLogic,
} from 'xstate';

/** Thrown when a chart runs with a port that nobody provided. */
export class PortNotProvidedError extends Error {
  override readonly name = 'PortNotProvidedError';

  constructor(port: string) {
    super(`Port "${port}" has no implementation; the supervisor provides it.`);
  }
}

/**
 * Declares work that a chart invokes by name and never implements. The chart owns the contract
 * (input, output), `src/ports` owns what is really done.
 */
export function promisePort<Output, Input extends NonReducibleUnknown>(
  port: string,
): PromiseActorLogic<Output, Input> {
  return fromPromise<Output, Input>(() => Promise.reject(new PortNotProvidedError(port)));
}

/** Declares work that tells its chart of events while it goes on. */
export function callbackPort<Event extends EventObject, Input extends NonReducibleUnknown>(
  port: string,
): CallbackActorLogic<Event, Input> {
  return fromCallback<Event, Input>(() => {
    throw new PortNotProvidedError(port);
  });
}
