/**
 * Objects and arrays that a JSON value from outside may hold inside one another. What walks values
 * by recursion (`JSON.stringify`, digests, schemas of other libraries) is far from its end here.
 */
export const JSON_DEPTH_MAX = 200;

/**
 * Whether a parsed JSON value nests deeper than {@link JSON_DEPTH_MAX}. It goes level by level, so
 * no depth overflows the stack, and it stops at the first level too many.
 */
export function isTooDeep(value: unknown): boolean {
  let level = containersOf([value]);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > JSON_DEPTH_MAX) return true;
    level = level.flatMap((container) => containersOf(Object.values(container)));
  }
  return false;
}

const containersOf = (values: readonly unknown[]): readonly object[] =>
  values.filter((value) => typeof value === 'object' && value !== null);

/**
 * Whether a parsed JSON value holds a number that no double can hold, such as `1e400`: it was read as
 * infinity, which JSON cannot say again. For values that are not too deep.
 */
export function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some(hasInfinity);
}
