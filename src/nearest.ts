/**
 * The known word that a misspelt one most likely meant; undefined when none is close.
 * Close means at most a third of its letters differ, so that nothing absurd is suggested.
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const plain = simplified(word);
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(plain, simplified(candidate));
    const bound = Math.max(1, Math.floor(Math.max(plain.length, candidate.length) / 3));
    if (distance <= bound && (best === undefined || distance < best.distance)) {
      best = { word: candidate, distance };
    }
  }
  return best?.word;
}

/** `toolSecs`, `tool-secs` and `TOOL_SECS` are the same mistake. */
function simplified(word: string): string {
  return word
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll('-', '_');
}

/** Insertions, deletions, changes and swaps of neighbours, each at the price of one. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const cheapest = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      const swapped =
        row > 1 &&
        column > 1 &&
        from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1];
      current.push(swapped ? Math.min(cheapest, at(beforeLast, column - 2) + 1) : cheapest);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

/** Every index above is inside the row by construction. */
const at = (row: readonly number[], column: number): number => row[column] ?? 0;
