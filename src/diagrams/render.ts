import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Chart } from './charts.ts';
import { readChartDoc } from './doc-comment.ts';
import { toDot } from './dot.ts';
import { toMermaid } from './mermaid.ts';
import { describeChart } from './model.ts';
import { type IndexedChart, toReadme } from './readme.ts';
import { toSvg } from './svg.ts';
import { toTable } from './table.ts';

/** Where things are read: the charts' sources, and the tables that model tests keep. */
export interface RenderFrom {
  readonly machinesDir: string;
  readonly diagramsDir: string;
}

/** The text of every generated file by its name, from the charts and their sources. */
export async function renderAll(
  charts: readonly Chart[],
  { machinesDir, diagramsDir }: RenderFrom,
): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const indexed: IndexedChart[] = [];
  for (const { name, machine } of charts) {
    const file = `${name}.machine.ts`;
    const doc = readChartDoc(await readFile(join(machinesDir, file), 'utf8'), file);
    const chart = describeChart(machine);
    files.set(`${name}.mmd`, toMermaid(chart));
    files.set(`${name}.svg`, await toSvg(toDot(chart), name));
    files.set(`${name}.transitions.tsv`, toTable(chart));
    const hasEdges = await exists(join(diagramsDir, `${name}.edges.tsv`));
    indexed.push({ name, doc, chart, hasEdges });
  }
  return files.set('README.md', toReadme(indexed));
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
