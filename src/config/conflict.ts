import type { ConfigDocument } from './document.ts';
import { type ConfigIssue, formatPath } from './issue.ts';

/**
 * Two files that each say something where the process can have one. `path` begins with the table;
 * `what` goes on after the key and ends before the place of the other.
 */
export function conflict(
  document: ConfigDocument,
  other: ConfigDocument,
  path: readonly [string, ...string[]],
  what: string,
): ConfigIssue {
  const line = document.lineOf(path);
  return {
    source: document.file,
    ...(line === undefined ? {} : { line }),
    key: formatPath(path),
    problem: `${what} in ${other.file}:${other.lineOf(path) ?? 1}`,
    suggestion: `Keep one of the two; [${path[0]}] holds for the whole process.`,
  };
}
