import type { AuthConfig } from '../auth.ts';
import { conflict } from './conflict.ts';
import type { ConfigDocument } from './document.ts';
import type { ConfigIssue } from './issue.ts';

/** Who may call, from whichever file says it. */
export interface Access {
  /** Undefined: the server is open. */
  readonly auth: AuthConfig | undefined;
  readonly issues: readonly ConfigIssue[];
}

/**
 * Only one file may say it. Keys gathered from several would let each of them, an agent's as well,
 * add one that reaches every agent.
 */
export function mergeAccess(documents: readonly ConfigDocument[]): Access {
  const [owner, ...others] = documents.filter(({ toml }) => toml?.auth !== undefined);
  if (owner === undefined) return { auth: undefined, issues: [] };
  const issues = others.map((other) => conflict(other, owner, ['auth'], 'is set already'));
  return { auth: owner.toml?.auth, issues };
}
