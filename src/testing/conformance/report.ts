/** How one path went. */
export interface Verdict {
  readonly feature: string;
  /** The path as a sentence. */
  readonly path: string;
  readonly verdict: 'pass' | 'fail' | 'skipped';
  readonly ms: number;
  /** Why it was skipped, or what went wrong. */
  readonly why?: string;
  readonly expected?: string;
  readonly seen?: string;
  /** The session's entries, one line each. */
  readonly journal?: readonly string[];
  /** What was asked of the server and answered. */
  readonly requests?: readonly string[];
}

/** The JSON of a report: fields may be added, none renamed. */
export interface Report {
  readonly version: 1;
  readonly server: string;
  readonly started_at: string;
  readonly ms: number;
  /** Edges of the charts that were walked, and what they came to as a client sees them. */
  readonly charts: { readonly edges: number; readonly paths: number };
  readonly summary: { readonly passed: number; readonly failed: number; readonly skipped: number };
  readonly results: readonly Verdict[];
}

export function summaryOf(results: readonly Verdict[]): Report['summary'] {
  const count = (verdict: Verdict['verdict']): number =>
    results.filter((one) => one.verdict === verdict).length;
  return { passed: count('pass'), failed: count('fail'), skipped: count('skipped') };
}

const SIGNS = { pass: 'pass', fail: 'FAIL', skipped: 'skip' } as const;
const JOURNAL_LINES = 12;
const REQUEST_LINES = 6;

/** The report for people: one line a path, more where one failed, and the sums at the end. */
export function textOf(report: Report): string {
  const { summary, charts, results, server, ms } = report;
  const features = [...new Set(results.map(({ feature }) => feature))];
  const groups = features.flatMap((feature) => [
    '',
    headOf(feature, results),
    ...results.filter((one) => one.feature === feature).flatMap(linesOf),
  ]);
  const { passed, failed, skipped } = summary;
  return [
    `Runwarden conformance of ${server}`,
    `${charts.edges} edges of the charts are ${charts.paths} paths as a client sees them.`,
    ...groups,
    '',
    `${passed} passed, ${failed} failed, ${skipped} skipped, in ${(ms / 1_000).toFixed(1)} s`,
    '',
  ].join('\n');
}

function headOf(feature: string, results: readonly Verdict[]): string {
  const own = results.filter((one) => one.feature === feature);
  return `${feature}: ${summaryOf(own).passed} of ${own.length}`;
}

function linesOf({ verdict, path, why, expected, seen, ...more }: Verdict): readonly string[] {
  const first = `  ${SIGNS[verdict]}  ${path}`;
  if (verdict === 'skipped') return [`${first}\n        because ${why}`];
  if (verdict === 'pass') return [first];
  return [
    first,
    `        ${expected === undefined ? why : `expected ${expected}`}`,
    ...(seen === undefined ? [] : [`        seen     ${seen}`]),
    ...indented('journal', more.journal?.slice(-JOURNAL_LINES)),
    ...indented('requests', more.requests?.slice(-REQUEST_LINES)),
  ];
}

const indented = (name: string, lines: readonly string[] = []): readonly string[] =>
  lines.length === 0 ? [] : [`        ${name}`, ...lines.map((line) => `          ${line}`)];
