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

/** The session has a live run, and the start said not to wait for it. */
export class SessionBusyError extends SupervisorError {
  override readonly name = 'SessionBusyError';
  readonly runId: string;

  constructor(sessionId: string, runId: string) {
    super(
      'session_busy',
      `Session "${sessionId}" has the live run "${runId}"; cancel it or wait for it. A start of ` +
        'POST /v1/runs may say on_busy "enqueue", "interrupt" or "parallel".',
    );
    this.runId = runId;
  }
}

/**
 * The run is not in a state in which that can be done to it. Its code says why: `run_ended`,
 * `run_elsewhere`, `not_parked`, `already_resumed`, `approvals_undecided`, `agent_not_served`.
 */
export class RunStateError extends SupervisorError {
  override readonly name = 'RunStateError';
}

/**
 * The approval does not allow what the decision asks for; it stays as it is. The code says why:
 * `edits_not_allowed`, `grants_not_allowed`, `content_not_allowed`, `invalid_content`,
 * `arguments_forbidden`, `invalid_arguments`.
 */
export class DecisionRefusedError extends SupervisorError {
  override readonly name = 'DecisionRefusedError';
  /** The field of the decision that is wrong: `arguments`, `arguments.path`, `grant` or `content`. */
  readonly field: string;

  constructor(code: string, message: string, field: string) {
    super(code, message);
    this.field = field;
  }
}

/** The key was used before for a start that asked for something else. */
export class IdempotencyKeyReusedError extends SupervisorError {
  override readonly name = 'IdempotencyKeyReusedError';

  constructor() {
    super(
      'idempotency_key_reused',
      'The idempotency key was used for a start with another body; use a new key.',
    );
  }
}

/** The tenant has used up one of its limits. */
export class TenantLimitError extends SupervisorError {
  override readonly name = 'TenantLimitError';
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super('rate_limited', message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The store did not take an entry, so what depends on it must not happen. */
export class StoreUnavailableError extends SupervisorError {
  override readonly name = 'StoreUnavailableError';

  constructor(cause: unknown) {
    super('store_unavailable', 'The journal store did not accept the entry.', { cause });
  }
}
