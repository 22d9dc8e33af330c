import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Bench } from './bench.ts';
import { endAll } from './command.ts';
import { judge, survivors, type Verdict } from './judge.ts';
import type { Layer } from './layers.ts';
import { type Mutant, planted } from './mutant.ts';
import { MUTANTS } from './mutants.ts';
import { jsonOf, lineOf, tableOf } from './report.ts';
import { suitesOf } from './suites.ts';
import { openWorkspaces, type Workspace } from './workspace.ts';

/** Mutants judged beside each other. */
const WORKERS = 2;

/** The layers from the cheapest to the dearest, measured on the charts' own suites. */
const BY_COST: readonly Layer[] = [
  'unit',
  'property',
  'tables',
  'simulation',
  'conformance',
  'model',
  'types',
  'integration',
];

const { values } = parseArgs({
  options: {
    /** All mutants whose names begin with it. */
    only: { type: 'string', multiple: true, default: [] },
    /** The core of the list, each until the first layer that kills it. */
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    report: { type: 'string' },
  },
});

const isChosen = ({ name, core }: Mutant): boolean =>
  values.only.length === 0
    ? core === true || !values.quick
    : values.only.some((part) => name.startsWith(part));

const chosen = MUTANTS.filter(isChosen);
if (chosen.length === 0) throw new RangeError(`No mutant is named ${values.only.join(', ')}.`);

const { all, remove } = openWorkspaces(WORKERS + 1);
const [pristine, ...copies] = all as readonly [Workspace, ...Workspace[]];
const bench = new Bench(pristine);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => leave(130));

try {
  for (const mutant of chosen) planted(mutant, pristine.read(mutant.file)); // Before any time is spent.
  const beganAt = performance.now();
  const verdicts = await judgeAll();
  if (values.json !== undefined) writeFileSync(values.json, jsonOf(verdicts, [...bench.red]));
  if (values.report !== undefined) writeFileSync(values.report, tableOf(verdicts));
  sayHowMany(verdicts, performance.now() - beganAt);
  process.exitCode = survivors(verdicts).length + bench.red.size === 0 ? 0 : 1;
} finally {
  endAll();
  remove();
}

/** Each copy takes the next mutant when it is free; the verdicts come in the mutants' order. */
async function judgeAll(): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  const queue = chosen.entries();
  const work = async (workspace: Workspace): Promise<void> => {
    for (const [index, mutant] of queue) {
      const verdict = await judgeIn(workspace, mutant);
      verdicts[index] = verdict;
      console.log(lineOf(verdict));
    }
  };
  await Promise.all(copies.map(work));
  return verdicts;
}

async function judgeIn(workspace: Workspace, mutant: Mutant): Promise<Verdict> {
  const original = workspace.read(mutant.file);
  workspace.write(mutant.file, planted(mutant, original));
  try {
    return await judge(mutant, {
      suites: suitesOf(mutant.file),
      order: BY_COST,
      quick: values.quick,
      run: (layer, files) => bench.run(workspace, layer, files),
    });
  } finally {
    workspace.write(mutant.file, original);
  }
}

function sayHowMany(verdicts: readonly Verdict[], tookMs: number): void {
  const left = survivors(verdicts);
  console.log(
    `${verdicts.length - left.length} of ${verdicts.length} mutants killed in ${Math.round(tookMs / 1_000)} s`,
  );
  for (const { mutant } of left) console.log(`  survived: ${mutant.name}: ${mutant.says}`);
  for (const suite of bench.red) console.log(`  fails without any mutant: ${suite}`);
}

function leave(code: number): never {
  endAll();
  remove();
  process.exit(code);
}
