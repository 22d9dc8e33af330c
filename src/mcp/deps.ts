import type { Clock } from '../clock.ts';
import type { McpLimits } from './limits.ts';

/** The part of the logger that this folder uses; a pino logger fits. */
export interface McpLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface McpDeps {
  readonly clock: Clock;
  readonly log: McpLog;
  readonly limits: McpLimits;
  /** Told to servers as the version of this client. */
  readonly version: string;
}
