import { hash } from 'node:crypto';

/** Deeper arguments are refused: the walk below is recursive and a model may send anything. */
export const ARGUMENTS_DEPTH_MAX = 1_000;

/**
 * What a person approves: these arguments and no others.
 *
 * Gives `sha256:HEX` of the canonical JSON, in which keys are sorted by UTF-16 code units and no
 * white space stands. Two values have the same digest if and only if they are equal as JSON.
 * Throws a `TypeError` for what JSON cannot say (functions, bigints, NaN, undefined in a list) and
 * for values nested deeper than {@link ARGUMENTS_DEPTH_MAX}.
 */
export function argumentsDigest(value: unknown): `sha256:${string}` {
  return `sha256:${hash('sha256', canonicalJson(value), 'hex')}`;
}

/** The text that is hashed. Keys whose value is undefined are left out, as `JSON.stringify` does. */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (depth > ARGUMENTS_DEPTH_MAX) {
    throw new TypeError(`Arguments nest deeper than ${ARGUMENTS_DEPTH_MAX} levels.`);
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
  if (!sayable) throw new TypeError(`Arguments hold a value that is not JSON (${typeof value}).`);
  return JSON.stringify(value);
}

const byKey = ([a]: [string, unknown], [b]: [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0;
