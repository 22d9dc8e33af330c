import { parse, TomlError } from 'smol-toml';
import { formatPath, type ConfigIssue, type KeyPath } from './issue.ts';
import { nearest } from '../nearest.ts';
import { oddRouteHeaders } from './route-headers.ts';
import { ROOT_KEYS, rootSchema, type RootToml } from './schema/root.ts';
import { expandTemplates, hasTemplate, isTable, type Environment } from './templates.ts';
import { indexLines, type LineFinder } from './toml-lines.ts';
import { findingsOf, type Finding } from './zod-issues.ts';

/** A configuration text and the name under which its faults are told. */
export interface ConfigSource {
  readonly file: string;
  readonly text: string;
}

/** One file, read as far as it could be. */
export interface ConfigDocument {
  readonly file: string;
  readonly lineOf: LineFinder;
  /** Undefined when there are issues. */
  readonly toml: RootToml | undefined;
  readonly issues: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/** Reads one file: TOML, templates, schema. Never throws for what a person may have written. */
export function readDocument({ file, text }: ConfigSource, env: Environment): ConfigDocument {
  try {
    // Keys such as `__proto__` have no meaning here and trouble every object they get into.
    // Integers that a number cannot hold come as bigints, so that they are refused by their key.
    const tree = parse(text, { unsafeKeyBehaviour: 'throw', integersAsBigInt: 'asNeeded' });
    return checkTree(tree, { file, env, lineOf: indexLines(text) });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    return unreadable(file, error);
  }
}

/** The rest of the parser's message shows lines of the file, which may hold secrets. */
function unreadable(file: string, error: TomlError): ConfigDocument {
  const [sentence = ''] = error.message.split('\n');
  const what = sentence.replace(/^Invalid TOML document: /, '');
  const issue = {
    source: file,
    line: error.line,
    key: '',
    problem: `not valid TOML at column ${error.column}: ${what}`,
  };
  return { file, lineOf: () => undefined, toml: undefined, issues: [issue], warnings: [] };
}

interface Scope {
  readonly file: string;
  readonly env: Environment;
  readonly lineOf: LineFinder;
}

function checkTree(written: Record<string, unknown>, scope: Scope): ConfigDocument {
  const { file, lineOf } = scope;
  const { tree, faults } = expandTemplates(written, scope.env);
  const parsed = rootSchema.safeParse(tree);
  const found = (parsed.error?.issues ?? []).flatMap((issue) =>
    findingsOf(issue, (path) => valueAt(tree, path)),
  );
  const unfilled = new Set(faults.map(({ path }) => formatPath(path)));
  const findings = [
    ...faults,
    // A value whose template could not be filled in has nothing to say for itself.
    ...found.filter(({ path }) => !unfilled.has(formatPath(path))),
    ...strayKeys(tree),
    ...disguisedTables(tree),
  ];
  const issues = findings.map((finding) => toIssue(finding, written, scope)).sort(byLine);
  const warnings = [...strayTables(tree), ...oddRouteHeaders(tree)].map((finding) =>
    toIssue(finding, written, scope),
  );
  return { file, lineOf, toml: issues.length === 0 ? parsed.data : undefined, issues, warnings };
}

const byLine = (a: ConfigIssue, b: ConfigIssue): number => (a.line ?? 0) - (b.line ?? 0);

/** Tables of other programs may stand in the file, so they are only warned of. */
function strayTables(tree: unknown): Finding[] {
  return unknownRootKeys(tree, isTableOrTables)
    .filter((key) => !isProtection(key))
    .map((key) => ({
      path: [key],
      problem: 'is an unknown table and has no effect',
      suggestion: rootAdvice(key),
    }));
}

/** With one of these misspelt the server would run without approvals, or open to everybody. */
const PROTECTIONS: readonly (string | undefined)[] = ['hitl', 'auth'];

const isProtection = (key: string): boolean => PROTECTIONS.includes(nearest(key, ROOT_KEYS));

function disguisedTables(tree: unknown): Finding[] {
  return unknownRootKeys(tree, isTableOrTables)
    .filter(isProtection)
    .map((key) => ({
      path: [key],
      problem: 'is not a known table',
      suggestion: `${rootAdvice(key)} If it is another program's, rename it.`,
    }));
}

function strayKeys(tree: unknown): Finding[] {
  return unknownRootKeys(tree, (value) => !isTableOrTables(value)).map((key) => ({
    path: [key],
    problem: 'is not a known key',
    suggestion: rootAdvice(key),
  }));
}

function unknownRootKeys(tree: unknown, wanted: (value: unknown) => boolean): string[] {
  const entries = isTable(tree) ? Object.entries(tree) : [];
  return entries
    .filter(([key, value]) => !ROOT_KEYS.includes(key) && wanted(value))
    .map(([key]) => key);
}

const isTableOrTables = (value: unknown): boolean =>
  isTable(value) || (Array.isArray(value) && value.length > 0 && value.every(isTable));

function rootAdvice(key: string): string {
  const close = nearest(key, ROOT_KEYS);
  const known =
    'Known tables: [agent], [mcp], [hitl], [runtime], [auth], [tools], [orchestration].';
  return close === undefined ? known : `Did you mean "${close}"?`;
}

function toIssue(finding: Finding, written: unknown, { file, lineOf }: Scope): ConfigIssue {
  const { path, problem, suggestion } = finding;
  const line = lineOf(path);
  return {
    source: file,
    ...(line === undefined ? {} : { line }),
    key: formatPath(path),
    problem: finding.quotable ? `${problem}${quoted(valueAt(written, path))}` : problem,
    ...(suggestion === undefined ? {} : { suggestion }),
  };
}

const QUOTE_LENGTH_MAX = 40;

/** A value that came from the environment may be a misplaced secret, so its template is shown. */
export function quoted(value: unknown): string {
  if (['number', 'bigint', 'boolean'].includes(typeof value)) return `: ${String(value)}`;
  if (typeof value !== 'string') return '';
  if (value.length <= QUOTE_LENGTH_MAX) return `: ${JSON.stringify(value)}`;
  return hasTemplate(value) ? '' : `: ${JSON.stringify(`${value.slice(0, QUOTE_LENGTH_MAX)}…`)}`;
}

/** What stands at a path; undefined where nothing does. */
export function valueAt(tree: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, part)
        ? (value as Record<string | number, unknown>)[part]
        : undefined,
    tree,
  );
}
