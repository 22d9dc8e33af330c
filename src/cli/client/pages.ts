import type { Query, ServerClient } from './client.ts';
import { foreignServer, OperatorError } from './errors.ts';
import { EXIT } from './exit-codes.ts';
import { read } from './read.ts';
import { pageShape } from './shapes.ts';

/** Of a list without an end nobody reads more. With full pages it is 200,000 records. */
const PAGES_MAX = 1_000;

export interface Listed {
  readonly data: readonly unknown[];
  /** Cursor of what was not asked for; null when that is all. */
  readonly next: string | null;
  /** As the server sent it; for several pages, one page in the same shape. */
  readonly text: string;
}

export interface ListRequest {
  readonly query: Query;
  /** Follows `next` to the end. */
  readonly all: boolean;
}

/** A page of a list, or all of them. */
export async function listed(
  client: ServerClient,
  path: string,
  { query, all }: ListRequest,
): Promise<Listed> {
  const first = await pageAt(client, path, query);
  if (!all || first.next === null) return first;
  const data = [...first.data];
  const seen = new Set<string>();
  for (let next: string | null = first.next; next !== null; ) {
    guard(next, seen);
    const page = await pageAt(client, path, { ...query, after: next });
    for (const one of page.data) data.push(one);
    next = page.next;
  }
  return { data, next: null, text: JSON.stringify({ object: 'list', data, next: null }) };
}

async function pageAt(client: ServerClient, path: string, query: Query): Promise<Listed> {
  const { text, json } = await client.get(path, { query });
  return { ...read(pageShape, json), text };
}

/** A cursor that comes again would be followed for ever. */
function guard(next: string, seen: Set<string>): void {
  if (seen.has(next))
    throw foreignServer('The server sent the same page again; try without --all.');
  seen.add(next);
  if (seen.size < PAGES_MAX) return;
  const message = `There are more than ${PAGES_MAX} pages. Narrow the list by its options.`;
  throw new OperatorError({ code: 'too_many_pages', message, exitCode: EXIT.refused });
}
