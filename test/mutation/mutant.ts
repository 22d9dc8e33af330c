/** One planted bug: what a change of one file would get wrong. */
export interface Mutant {
  /** Unique, in kebab case; what `--only` takes. */
  readonly name: string;
  /** What the product would do wrong, as a sentence. */
  readonly says: string;
  /** Relative to the root of the repository. */
  readonly file: string;
  readonly edits: readonly Edit[];
  /** Among those that are judged at every change: `--quick`. */
  readonly core?: true;
}

/** The exact text that is replaced, and what by. It is there once. */
export type Edit = readonly [find: string, put: string];

/** A mutant that no longer fits the code it was written for: it proves nothing until it is written anew. */
export class StaleMutantError extends Error {
  override readonly name = 'StaleMutantError';

  constructor({ name, file }: Mutant, find: string, times: number) {
    super(`Mutant "${name}" is stale: ${file} has this ${times} times, not once:\n${find}`);
  }
}

/** The text of the mutant's file with the bug in it. Throws `StaleMutantError`. */
export function planted(mutant: Mutant, original: string): string {
  let text = original;
  for (const [find, put] of mutant.edits) {
    const times = text.split(find).length - 1;
    if (times !== 1) throw new StaleMutantError(mutant, find, times);
    text = text.replace(find, () => put);
  }
  if (text === original) throw new Error(`Mutant "${mutant.name}" changes nothing.`);
  return text;
}
