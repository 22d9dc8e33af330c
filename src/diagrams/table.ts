import { type ChartState, statesOf } from './model.ts';

/** Every transition a chart defines, as tab-separated text with a heading. */
export function toTable(chart: ChartState): string {
  const rows = statesOf(chart).flatMap((state) =>
    state.transitions.map(({ on, guard, targets, actions }) => [
      state.id,
      on,
      guard ?? '',
      targets.length > 0 ? targets.join(', ') : '(stays)',
      actions.join('; '),
    ]),
  );
  return `${[['state', 'event', 'guard', 'target', 'actions'], ...rows].map((row) => row.join('\t')).join('\n')}\n`;
}
