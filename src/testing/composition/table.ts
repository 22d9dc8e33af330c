import type { Composition } from './contract.ts';

/**
 * The edges as tab-separated text with a heading; equal rows are given once. It shows what the charts' keys
 * show; what only `keyOfWhole`, timers and fakes tell apart is left out.
 */
export function compositionTable({ edges }: Pick<Composition, 'edges'>): string {
  const rows = edges.map(({ from, on, to, facts }) => [from, on, to, facts.join('; ')].join('\t'));
  return `${['from\ton\tto\tfacts', ...new Set(rows)].join('\n')}\n`;
}
