import { SupervisorError } from '../../errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

export interface OperatorErrorOptions {
  /** Empty for an end that needs no words. */
  readonly message: string;
  readonly code: string;
  readonly exitCode: ExitCode;
  /** The same request may succeed later, so one who watches comes back. */
  readonly passing?: boolean;
  /** How long the server asked to be left alone. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** Ends a command with an exit code. The message names the remedy and holds no key. */
export class OperatorError extends SupervisorError {
  override readonly name = 'OperatorError';
  readonly exitCode: ExitCode;
  readonly passing: boolean;
  readonly retryAfterMs: number | undefined;

  constructor({ message, code, exitCode, passing, retryAfterMs, cause }: OperatorErrorOptions) {
    super(code, message, cause === undefined ? {} : { cause });
    this.exitCode = exitCode;
    this.passing = passing ?? false;
    this.retryAfterMs = retryAfterMs;
  }
}

export const wrongUsage = (message: string): OperatorError =>
  new OperatorError({ code: 'usage', message, exitCode: EXIT.usage });

/** Something answers, but not as the contract says. */
export const foreignServer = (message: string): OperatorError =>
  new OperatorError({ code: 'not_runwarden', message, exitCode: EXIT.unreachable });

/** There was no answer, or it broke off. Another try may do better. */
export const unreachable = (message: string, cause?: unknown): OperatorError =>
  new OperatorError({
    code: 'unreachable',
    message,
    exitCode: EXIT.unreachable,
    passing: true,
    cause,
  });
