import type { CampaignOptions, Failure } from './campaign.ts';
import { type Reach, REACH_KINDS, type ReachKind } from './reach.ts';
import type { Simulated } from './simulate.ts';
import type { SimHistory } from './steps.ts';
import { journalTable } from './table.ts';

const TITLES: Readonly<Record<ReachKind, string>> = {
  steps: 'steps',
  faults: 'faults',
  states: 'states of charts',
  ends: 'ends of runs',
  events: 'entries',
  answers: 'answers',
  checks: 'checks of what must hold',
};

/** One sentence: how much was covered. */
export const closingLine = (reach: Reach): string =>
  `Simulated ${reach.runs} histories with ${reach.total('steps')} steps, ${reach.total('faults')} faults of ` +
  `${reach.of('faults').length} kinds and ${reach.total('ends')} ends of ${reach.of('ends').length} kinds.`;

/** What a campaign came to, for a person. */
export function reachReport(reach: Reach): string {
  const parts = REACH_KINDS.map((kind) => {
    const rows = reach.of(kind).map(([what, count]) => `  ${String(count).padStart(8)}  ${what}`);
    return [`${TITLES[kind]}: ${reach.total(kind)} of ${rows.length} kinds`, ...rows].join('\n');
  });
  return [...parts, closingLine(reach)].join('\n\n');
}

/** How a fault is played again, and the shortest history that shows it. */
export function failureReport(
  { seed, faults, shrunk }: Failure,
  { stepsMax }: Pick<CampaignOptions, 'stepsMax'>,
): string {
  return [
    `Seed ${seed} shows a fault. Play it again:`,
    `  ${commandOf(seed, stepsMax)}`,
    '',
    'The shortest history that was found for it; in a file it is played by --replay FILE:',
    historyText(shrunk),
    '',
    ...faults.map((fault) => `Fault: ${fault}`),
  ].join('\n');
}

export const commandOf = (seed: number, stepsMax: number): string =>
  `npm run simulate -- --seed ${seed} --runs 1 --steps ${stepsMax}`;

/** JSON with one line a step. */
export function historyText({ settings, steps }: SimHistory): string {
  const lines = steps.map((step) => `    ${JSON.stringify(step)}`);
  return `{\n  "settings": ${JSON.stringify(settings)},\n  "steps": [\n${lines.join(',\n')}\n  ]\n}`;
}

export const journalsText = ({ journals }: Pick<Simulated, 'journals'>): string =>
  [...journals].map(([id, lines]) => journalTable(id, lines)).join('\n\n');
