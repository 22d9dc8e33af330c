import { type Layer, LAYERS, type Outcome, witnessOf } from './layers.ts';
import type { Verdict } from './judge.ts';

/** One line for people, told as soon as a mutant has been judged. */
export function lineOf({ mutant, outcomes, killedBy }: Verdict): string {
  if (killedBy.length === 0) return `SURVIVED  ${mutant.name} (${mutant.file})`;
  return `killed    ${mutant.name}: ${killedBy.join(', ')} (${witness({ outcomes, killedBy })})`;
}

/** What a machine reads of all verdicts; `red` is what fails without any mutant. */
export function jsonOf(verdicts: readonly Verdict[], red: readonly string[] = []): string {
  const mutants = verdicts.map(({ mutant: { name, says, file }, outcomes, killedBy }) => ({
    name,
    says,
    file,
    killed: killedBy.length > 0,
    killedBy,
    outcomes,
  }));
  return `${JSON.stringify({ mutants, red }, undefined, 2)}\n`;
}

/** The matrix of mutants and layers as Markdown; the same for the same verdicts. */
export function tableOf(verdicts: readonly Verdict[]): string {
  const head = ['planted bug', ...LAYERS];
  const rows = verdicts.map((verdict) => [
    `**${verdict.mutant.name}**: ${verdict.mutant.says}`,
    ...LAYERS.map((layer) => cell(verdict, layer)),
  ]);
  const witnesses = verdicts.map(
    (verdict) => `- ${verdict.mutant.name} (\`${verdict.mutant.file}\`): ${witness(verdict)}`,
  );
  return [
    '# Planted bugs and what sees them',
    '',
    'Written by `npm run mutate -- --report test/mutation/report.md`. **x**: the layer fails with the',
    'bug in the code; –: it passes; empty: it was not asked, because no suite of it concerns the file,',
    'or, for integration, because a cheaper layer has seen the bug.',
    '',
    row(head),
    row(head.map((_, index) => (index === 0 ? '---' : ':-:'))),
    ...rows.map(row),
    '',
    '## The test that sees it first',
    '',
    ...witnesses,
    '',
  ].join('\n');
}

const CELLS: Readonly<Record<Outcome['kind'], string>> = {
  passed: '–',
  failed: '**x**',
  hung: '**x**',
  red: '?',
};

const cell = ({ outcomes }: Verdict, layer: Layer): string => {
  const outcome = outcomes[layer];
  return outcome === undefined ? '' : CELLS[outcome.kind];
};

function witness({ outcomes, killedBy }: Pick<Verdict, 'outcomes' | 'killedBy'>): string {
  const [layer] = killedBy;
  const outcome = layer && outcomes[layer];
  if (outcome === undefined) return 'nothing';
  return outcome.kind === 'hung' ? `the ${layer} suites hang` : witnessOf(outcome);
}

const row = (cells: readonly string[]): string =>
  `| ${cells.map((text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
