/**
 * The one family of errors that leaves the product. `code` is part of the contract: renaming one
 * is a breaking change. The message is a sentence for the reader and never holds a secret.
 */
export class SupervisorError extends Error {
  override readonly name: string = 'SupervisorError';
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** No agent answers to the name. */
export class AgentNotFoundError extends SupervisorError {
  override readonly name = 'AgentNotFoundError';

  constructor(agent: string) {
    super(
      'model_not_found',
      `The model \`${agent}\` does not exist or you do not have access to it.`,
    );
  }
}

export class RunNotFoundError extends SupervisorError {
  override readonly name = 'RunNotFoundError';

  constructor(runId: string) {
    super('not_found', `No run "${runId}".`);
  }
}

/** The supervisor admits nothing more: it is shutting down. */
export class ShuttingDownError extends SupervisorError {
  override readonly name = 'ShuttingDownError';

  constructor() {
    super('service_unavailable', 'Server is shutting down');
  }
}

/** As many runs are live as the configuration allows. */
export class TooManyRunsError extends SupervisorError {
  override readonly name = 'TooManyRunsError';

  constructor(runsMax: number) {
    super('rate_limited', `All ${runsMax} places for runs are taken; try again shortly.`);
  }
}

/** The agent cannot honour the liveness policy that the start asked for. */
export class PolicyUnsupportedError extends SupervisorError {
  override readonly name = 'PolicyUnsupportedError';

  constructor(policy: string) {
    super('policy_unsupported', `The liveness policy "${policy}" is not supported here.`);
  }
}

/** The store did not take an entry, so what depends on it must not happen. */
export class StoreUnavailableError extends SupervisorError {
  override readonly name = 'StoreUnavailableError';

  constructor(cause: unknown) {
    super('store_unavailable', 'The journal store did not accept the entry.', { cause });
  }
}
