import { z } from 'zod';
import type { Query } from '../client/client.ts';
import { PAGE_RECORDS_MAX } from '../client/limits.ts';
import { listed } from '../client/pages.ts';
import { read } from '../client/read.ts';
import { type OperatorCall, option, printJson } from '../operator.ts';
import { type Column, table } from './table.ts';

export interface ListView<Shape extends z.ZodType> {
  readonly path: string;
  readonly query: Query;
  readonly shape: Shape;
  readonly columns: readonly Column<z.output<Shape>>[];
  /** Said instead of an empty table. */
  readonly none: string;
}

/** Prints a list: a page of it, or with `--all` the whole. */
export async function printList<Shape extends z.ZodType>(
  call: OperatorCall,
  { path, query, shape, columns, none }: ListView<Shape>,
): Promise<void> {
  const { client, io, flags, json } = call;
  const all = flags['all'] === true;
  const limit = option(call, 'limit') ?? (all ? String(PAGE_RECORDS_MAX) : undefined);
  const page = await listed(client, path, { query: { ...query, limit }, all });
  if (json) return printJson(call, page.text);
  const rows = read(z.array(shape), page.data);
  io.out(rows.length === 0 ? `${none}\n` : table(rows, columns, io.columns()));
  if (page.next !== null) io.err('There are more: --all lists them, --limit more at once.\n');
}
