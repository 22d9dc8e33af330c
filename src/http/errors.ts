import {
  AgentNotFoundError,
  DecisionRefusedError,
  IdempotencyKeyReusedError,
  PolicyUnsupportedError,
  RunNotFoundError,
  RunStateError,
  SessionBusyError,
  ShuttingDownError,
  SupervisorError,
  TenantLimitError,
  TooManyRunsError,
} from '../errors.ts';

/** The body of every answer that is an error. Keys may be added, none renamed: clients match them. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code?: string;
    readonly param?: string;
    /** The live run that is in the way. */
    readonly run_id?: string;
  };
}

export interface HttpErrorOptions {
  readonly status: number;
  /** Stable. Absent for the shutdown gate alone. */
  readonly code?: string;
  /** As `code` unless given. */
  readonly type?: string;
  readonly message: string;
  /** The field of the request that is wrong. */
  readonly param?: string;
  /** The run that is in the way. */
  readonly runId?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** An error whose every field may be shown to the client. */
export class HttpError extends SupervisorError {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;

  constructor(options: HttpErrorOptions) {
    const { status, code, type, message, param, runId, headers, cause } = options;
    const shownType = type ?? code ?? 'internal_error';
    super(code ?? shownType, message, cause === undefined ? {} : { cause });
    this.status = status;
    this.headers = headers ?? {};
    this.body = {
      error: {
        message,
        type: shownType,
        ...(code === undefined ? {} : { code }),
        ...(param === undefined ? {} : { param }),
        ...(runId === undefined ? {} : { run_id: runId }),
      },
    };
  }
}

/** The sender of a 503 or 429 is asked to leave this server alone for so many seconds. */
export const RETRY_AFTER_SECS = 5;
const RETRY_LATER = { 'Retry-After': String(RETRY_AFTER_SECS) };

/** The same request will not do better: SDKs that retry a status by default are told not to. */
export const NO_RETRY = { 'x-should-retry': 'false' };

/** 400 that names the field. The message says what is wrong and what would be right. */
export function badRequest(message: string, param?: string): HttpError {
  const named = param === undefined ? {} : { param };
  return new HttpError({ status: 400, code: 'invalid_request_error', message, ...named });
}

export function notFound(message: string): HttpError {
  return new HttpError({ status: 404, code: 'not_found', message });
}

/** What every request but a few hears from the first shutdown signal on. */
export function shuttingDown(cause?: unknown): HttpError {
  const message = 'Server is shutting down';
  const type = 'service_unavailable';
  return new HttpError({ status: 503, type, message, headers: RETRY_LATER, cause });
}

/** 503 with a code, for a want of this server that may pass. */
export function unavailable(code: string, message: string, cause?: unknown): HttpError {
  return new HttpError({ status: 503, code, message, headers: RETRY_LATER, cause });
}

/** 429; the sender is told when it may come back. */
function limited(code: string, message: string, retryAfterMs: number): HttpError {
  const secs = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return new HttpError({ status: 429, code, message, headers: { 'Retry-After': String(secs) } });
}

/** 409 for a state that a request repeated at once would meet again. */
function conflict(error: SupervisorError, more: Partial<HttpErrorOptions> = {}): HttpError {
  const { code, message } = error;
  const headers = { ...NO_RETRY, ...more.headers };
  return new HttpError({ status: 409, code, message, cause: error, ...more, headers });
}

/** Whatever was thrown, as something that may be shown. Only our own errors keep their words. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof SupervisorError) return fromSupervisor(error);
  const message = 'Something went wrong inside the server.';
  return new HttpError({ status: 500, code: 'internal_error', message, cause: error });
}

function fromSupervisor(error: SupervisorError): HttpError {
  return ofRequest(error) ?? ofServer(error) ?? ofState(error) ?? unexpected(error);
}

/** What the request asks for is not to be had. */
function ofRequest(error: SupervisorError): HttpError | undefined {
  const { code, message } = error;
  if (error instanceof RunNotFoundError) return new HttpError({ status: 404, code, message });
  if (error instanceof AgentNotFoundError) return agentNotFound(error, 'model');
  if (error instanceof PolicyUnsupportedError) {
    return new HttpError({ status: 422, code, message, param: 'liveness' });
  }
  if (error instanceof DecisionRefusedError) {
    return new HttpError({ status: 422, code, message, param: error.field });
  }
  if (error instanceof IdempotencyKeyReusedError) {
    return conflict(error, { param: 'Idempotency-Key' });
  }
  return undefined;
}

/** `param` is the field that names the agent. */
export function agentNotFound({ code, message }: AgentNotFoundError, param: string): HttpError {
  return new HttpError({ status: 404, code, type: 'invalid_request_error', message, param });
}

/** The server, or what the tenant may use of it, is at its limit. */
function ofServer(error: SupervisorError): HttpError | undefined {
  const { code, message } = error;
  if (error instanceof ShuttingDownError) return shuttingDown(error);
  if (code === 'store_unavailable') return unavailable(code, message, error);
  if (error instanceof TooManyRunsError) return limited(code, message, RETRY_AFTER_SECS * 1_000);
  if (error instanceof TenantLimitError) return limited(code, message, error.retryAfterMs);
  return undefined;
}

/** A run or a session is not in a state in which that can be done. */
function ofState(error: SupervisorError): HttpError | undefined {
  if (error instanceof RunStateError) return conflict(error);
  if (error instanceof SessionBusyError) {
    const { runId } = error;
    return conflict(error, { runId, headers: { 'X-Run-Id': runId } });
  }
  // By its code: the journal's side that writes is not this room's to import.
  if (error.code === 'session_held') return conflict(error, { headers: RETRY_LATER });
  return error.code === 'lease_lost' ? conflict(error) : undefined;
}

function unexpected(error: SupervisorError): HttpError {
  const message = 'The server could not do that.';
  return new HttpError({ status: 500, code: error.code, message, cause: error });
}
