import type { ChartDoc } from './doc-comment.ts';
import { type ChartState, portsOf, statesOf } from './model.ts';

/** What the index says about one chart. */
export interface IndexedChart {
  readonly name: string;
  readonly doc: ChartDoc;
  readonly chart: ChartState;
  /** Whether a model test keeps the table of what happens in each reachable state. */
  readonly hasEdges: boolean;
}

/** The page a person opens first: every chart with its purpose, its invariants and its picture. */
export function toReadme(charts: readonly IndexedChart[]): string {
  return `${[HEAD, ...overview(charts), LEGEND, ...charts.map(section)].join('\n')}\n`;
}

const HEAD = `# Charts

Generated from the machine objects by \`npm run diagrams\`; a test fails when a file here is stale.
The \`*.edges.tsv\` tables are written by the model tests (\`vitest run test/model --update\`), which
drive each of their rows on the running chart, and so are the \`*.coverage.tsv\` beside them: which
transitions were driven directly after which. \`compositions/\` has the same of charts that run together.
Edit none of them by hand.
`;

const LEGEND = `
## How to read the pictures

- A blue box works: it invokes a child, which is named in green. A box with a double green border
  is final. A dashed violet box is passed through at once.
- \`#name\` is a tag: what code outside may ask a chart for. Small grey lines are what a state does on
  entry and exit, and what it handles without being left.
- A frame is a state with states inside. With dashed frames in it, these go on side by side.
  Arrows from *any state* leave whichever of the frame's states is current.
- Arrows: dark blue for an event, amber for a timer, green for the end of a child, red for its
  failure, dashed violet for a step taken at once. The guard is in brackets below.
`;

function overview(charts: readonly IndexedChart[]): string[] {
  const rows = charts.map(({ name, doc, chart }) => {
    const states = statesOf(chart).filter((state) => state.states.length === 0).length;
    const transitions = statesOf(chart).flatMap((state) => state.transitions).length;
    return `| [${name}](#${name}) | ${cell(doc.purpose)} | ${states} | ${transitions} |`;
  });
  return ['| chart | purpose | states | transitions |', '|---|---|---|---|', ...rows];
}

function section({ name, doc, chart, hasEdges }: IndexedChart): string {
  const ports = portsOf(chart).map((port) => `\`${port}\``);
  return [
    `\n## ${name}\n`,
    `${doc.purpose}\n`,
    ...doc.invariants.map(({ number, text }) => `- **${number}** ${text}`),
    `\nInvokes: ${ports.length > 0 ? ports.join(', ') : 'nothing'}.`,
    `Files: ${links(name, hasEdges).join(', ')}.\n`,
    `![Statechart of ${name}](${name}.svg)`,
  ].join('\n');
}

const links = (name: string, hasEdges: boolean): string[] => [
  `[source](../machines/${name}.machine.ts)`,
  `[Mermaid](${name}.mmd)`,
  `[transitions](${name}.transitions.tsv)`,
  ...(hasEdges ? [`[every event in every reachable state](${name}.edges.tsv)`] : []),
];

const cell = (text: string): string => text.replaceAll('|', '\\|');
