import type { HttpConfig } from '../config.ts';
import { isLoopback } from './loopback.ts';

/** The address is the one that the server listens on, as configured. */
export type Exposure = Pick<HttpConfig, 'host' | 'auth' | 'webhookSigning' | 'deciderHeader'>;

/** What the log warns of at start; see the functions below. */
export const exposureWarnings = (exposure: Exposure, url: string): readonly string[] =>
  [exposureWarning(exposure, url), deciderWarning(exposure)].filter((text) => text !== undefined);

/**
 * Whoever reaches an open server says themselves who decides, on loopback too, where the header is
 * believed; undefined when a key or a signature is asked for with a decision.
 */
export function deciderWarning(exposure: Exposure): string | undefined {
  const { auth, webhookSigning, deciderHeader } = exposure;
  if (deciderHeader === undefined) return undefined;
  if (auth !== undefined || webhookSigning !== undefined) return undefined;
  return (
    `The header ${deciderHeader} is believed when it says who decides an approval, and anybody can ` +
    'set it unless a proxy in front strips it from what comes in. Let only the proxy reach this ' +
    'server, or configure [auth] or the signing of decisions.'
  );
}

/**
 * What a server without authentication offers to strangers, as one warning for the log at start;
 * undefined when it listens on loopback alone or asks for keys. `url` is where it is reached.
 */
export function exposureWarning(
  { host, auth, webhookSigning }: Exposure,
  url: string,
): string | undefined {
  if (auth !== undefined || isLoopback(host)) return undefined;
  const decides =
    webhookSigning === undefined ? 'decide approvals' : 'read what waits for approval';
  return (
    `Nobody has to prove who they are: anybody who reaches ${url} can start runs with their ` +
    `tools, read every conversation, cancel runs and ${decides}. Configure [auth] with ` +
    'keys, or listen on 127.0.0.1.'
  );
}
