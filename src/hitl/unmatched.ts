import { compileGlob } from './glob.ts';

/** The patterns that match none of the names: what they were to hold back is not held back. */
export function unmatchedPatterns(
  patterns: readonly string[],
  names: readonly string[],
): readonly string[] {
  return [...new Set(patterns)].filter((pattern) => {
    const matches = compileGlob(pattern);
    return !names.some((name) => matches(name));
  });
}
