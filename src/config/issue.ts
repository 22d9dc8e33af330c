import { SupervisorError } from '../errors.ts';

/** One thing wrong, or odd, about what the server was told. Free of secrets. */
export interface ConfigIssue {
  /** A file's name, `environment` or `command line`. */
  readonly source: string;
  /** From 1; absent where there is no file, or nothing of it to point at. */
  readonly line?: number;
  /** Dotted path of the key, a variable, a flag; empty for the source as a whole. */
  readonly key: string;
  /** Goes on after the key: "is not a known key". */
  readonly problem: string;
  /** What to do instead, as sentences. */
  readonly suggestion?: string;
}

/** The configuration cannot be used. Holds every issue at once, in the order of the sources. */
export class ConfigError extends SupervisorError {
  override readonly name = 'ConfigError';
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];

  constructor(issues: readonly ConfigIssue[], warnings: readonly ConfigIssue[] = []) {
    super('config_invalid', issues.map(formatIssue).join('\n'));
    this.issues = issues;
    this.warnings = warnings;
  }
}

/** `FILE:LINE: KEY PROBLEM. SUGGESTION` on one line. */
export function formatIssue({ source, line, key, problem, suggestion }: ConfigIssue): string {
  const place = line === undefined ? source : `${source}:${line}`;
  const subject = key === '' ? '' : `${key} `;
  const advice = suggestion === undefined ? '' : ` ${suggestion}`;
  return `${place}: ${subject}${problem}.${advice}`;
}

export type KeyPath = readonly (string | number)[];

/** `mcp.servers."my server".args[0]`, as one would write it in TOML. */
export function formatPath(path: KeyPath): string {
  return path.reduce<string>((text, part) => text + formatPart(part, text === ''), '');
}

function formatPart(part: string | number, first: boolean): string {
  if (typeof part === 'number') return `[${part}]`;
  const name = /^[\w-]+$/.test(part) ? part : JSON.stringify(part);
  return first ? name : `.${name}`;
}
