import { plain } from './plain.ts';
import { fitted, padded, widthOf } from './width.ts';

export interface Column<Row> {
  readonly title: string;
  /** From the server as it came: the table makes it harmless. */
  text(row: Row): string;
  /** Columns it needs to be of use, where it may be cut; left out, it is shown whole. */
  readonly least?: number;
}

const GAP = '  ';

/**
 * Lines of a table, each at most `width` columns wide; undefined is no limit, and so is 0, which some
 * terminals say that do not know. Too wide a table is fitted in this order: columns with a `least` are cut, the widest first; then they are left out, the
 * last first; then the rest is cut.
 */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number | undefined,
): string {
  const cells = columns.map((column) => [
    column.title,
    ...rows.map((row) => plain(column.text(row))),
  ]);
  const limit = width === undefined || width === 0 ? Number.POSITIVE_INFINITY : width;
  const shown = fit(measured(columns, cells), limit);
  const last = shown.length - 1;
  const lines = Array.from({ length: rows.length + 1 }, (_, line) =>
    shown
      .map(({ cells: column, width: room }, index) => {
        const text = fitted(column[line] ?? '', room);
        return index === last ? text : padded(text, room);
      })
      .join(GAP)
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

interface Measured {
  readonly cells: readonly string[];
  readonly width: number;
  /** The whole width for a column that is not cut. */
  readonly least: number;
  readonly optional: boolean;
}

function measured<Row>(
  columns: readonly Column<Row>[],
  cells: readonly (readonly string[])[],
): Measured[] {
  return columns.map(({ least }, index) => {
    const column = cells[index] ?? [];
    const width = column.reduce((most, text) => Math.max(most, widthOf(text)), 0);
    const optional = least !== undefined;
    return { cells: column, width, least: Math.min(width, least ?? width), optional };
  });
}

function fit(columns: readonly Measured[], width: number): readonly Measured[] {
  const excess = total(columns) - width;
  if (excess <= 0) return columns;
  const cut = shrunk(columns, excess);
  if (total(cut) <= width) return cut;
  const dropped = columns.findLastIndex(({ optional }) => optional);
  if (dropped >= 0) return fit(columns.toSpliced(dropped, 1), width);
  const cuttable = columns.map((column) => ({ ...column, least: Math.min(column.width, 1) }));
  return shrunk(cuttable, excess);
}

const total = (columns: readonly Measured[]): number =>
  columns.reduce((sum, { width }) => sum + width, GAP.length * (columns.length - 1));

/** Takes `excess` off the widest column that can still give, one by one. */
function shrunk(columns: readonly Measured[], excess: number): readonly Measured[] {
  const widths = columns.map(({ width }) => width);
  for (let left = excess; left > 0; left -= 1) {
    let widest = -1;
    for (const [index, { least }] of columns.entries()) {
      const width = widths[index] ?? 0;
      if (width > least && width > (widths[widest] ?? 0)) widest = index;
    }
    if (widest < 0) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return columns.map((column, index) => ({ ...column, width: widths[index] ?? 0 }));
}
