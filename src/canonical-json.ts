import { hash } from 'node:crypto';

/** Deeper values are refused: the walk below is recursive, and what it is given comes from outside. */
export const CANONICAL_DEPTH_MAX = 1_000;

/**
 * The one text of a JSON value: keys are sorted by UTF-16 code units and no white space stands. Keys
 * whose value is undefined are left out, as `JSON.stringify` does. Two values have the same text if
 * and only if they are equal as JSON.
 *
 * Throws a `TypeError` for what JSON cannot say (functions, bigints, NaN, undefined in a list) and
 * for values nested deeper than {@link CANONICAL_DEPTH_MAX}.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

/** `sha256:HEX` of the canonical JSON; throws as {@link canonicalJson} does. */
export function canonicalDigest(value: unknown): `sha256:${string}` {
  return `sha256:${hash('sha256', canonicalJson(value), 'hex')}`;
}

function write(value: unknown, depth: number): string {
  if (depth > CANONICAL_DEPTH_MAX) {
    throw new TypeError(`Objects and lists nest deeper than ${CANONICAL_DEPTH_MAX} levels.`);
  }
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`;
  if (typeof value === 'object' && value !== null) return writeObject(value, depth);
  return writeScalar(value);
}

function writeObject(value: object, depth: number): string {
  const members: string[] = [];
  for (const [key, item] of Object.entries(value).sort(byKey)) {
    if (item !== undefined) members.push(`${JSON.stringify(key)}:${write(item, depth + 1)}`);
  }
  return `{${members.join(',')}}`;
}

function writeScalar(value: unknown): string {
  const sayable =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value));
  if (!sayable) throw new TypeError(`The value holds what is not JSON (${typeof value}).`);
  return JSON.stringify(value);
}

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0;
