/** What may kill a mutant, in the order in which the report shows it. */
export const LAYERS = [
  'types',
  'conformance',
  'unit',
  'tables',
  'model',
  'property',
  'simulation',
  'integration',
] as const;

export type Layer = (typeof LAYERS)[number];

/**
 * The test files of each layer that concern a file. `types` has none, it is the compiler; `tables` are
 * those of `model`, asked only whether the chart's edges are the committed ones.
 */
export type Suites = Readonly<Partial<Record<Layer, readonly string[]>>>;

/**
 * How the suites of one layer ended. `hung`: they were not over within their bound. `red`: they fail
 * without any bug in the code too, so they say nothing.
 */
export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly by: string }
  | { readonly kind: 'hung' }
  | { readonly kind: 'red'; readonly by: string };

/** What of the layer saw the bug, for people. */
export const witnessOf = (outcome: Outcome): string =>
  'by' in outcome ? outcome.by : outcome.kind;
