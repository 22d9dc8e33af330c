import type { AppendPart, JournalPage, PageLimits } from './store.ts';

/** Consecutive entries of one session that were stored together. */
export interface Group {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly body: string;
}

/** Characters of JSON in a group; the line feeds between its entries are the store's own. */
export const sizeOf = ({ firstSeq, lastSeq, body }: Group): number =>
  body.length - (lastSeq - firstSeq);

/** The group that a part becomes, with its terminal or without. */
export function groupOf(part: AppendPart, { settles }: { settles: boolean }): Group {
  const { firstSeq, count, body } = part;
  if (part.terminal === undefined || !settles) {
    return { firstSeq, lastSeq: firstSeq + count - 1, body };
  }
  const { line } = part.terminal;
  return { firstSeq, lastSeq: firstSeq + count, body: count === 0 ? line : `${body}\n${line}` };
}

/**
 * Cuts a page out of groups in ascending order. They may overlap, as they do for a moment after a
 * crash in the middle of a move: an entry is taken once. Where entries are missing the page starts
 * after the hole or ends before it.
 */
export function pageOf(
  groups: Iterable<Group>,
  from: number,
  { limits, floor }: { limits: PageLimits; floor: number },
): JournalPage {
  const lines: string[] = [];
  let firstSeq = Math.max(from, floor + 1);
  let next = firstSeq;
  let bytes = 0;
  for (const group of groups) {
    if (group.lastSeq < next) continue;
    if (group.firstSeq > next) {
      if (lines.length > 0) return { firstSeq, lines, floor, complete: false };
      firstSeq = next = group.firstSeq;
    }
    for (const line of group.body.split('\n').slice(next - group.firstSeq)) {
      if (lines.length >= limits.entriesMax || (bytes >= limits.bytesMax && lines.length > 0)) {
        return { firstSeq, lines, floor, complete: false };
      }
      lines.push(line);
      bytes += line.length;
      next += 1;
    }
  }
  return { firstSeq, lines, floor, complete: true };
}
