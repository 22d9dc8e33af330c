import type { AuthConfig } from '../../auth.ts';
import { isLoopback } from './loopback.ts';

export interface Exposure {
  /** The address that the server listens on, as configured. */
  readonly host: string;
  readonly auth?: AuthConfig | undefined;
}

/**
 * What a server without authentication offers to strangers, as one warning for the log at start;
 * undefined when it listens on loopback alone or asks for keys. `url` is where it is reached.
 */
export function exposureWarning({ host, auth }: Exposure, url: string): string | undefined {
  if (auth !== undefined || isLoopback(host)) return undefined;
  return (
    `Nobody has to prove who they are: anybody who reaches ${url} can start runs with their ` +
    'tools, read every conversation, cancel runs and decide approvals. Configure [auth] with ' +
    'keys, or listen on 127.0.0.1.'
  );
}
