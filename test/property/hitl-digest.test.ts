import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { argumentsDigest, canonicalJson } from '../../src/hitl/digest.ts';

/** JSON has one zero: -0 is written 0. */
const json = fc
  .jsonValue({ maxDepth: 4 })
  .map((value): unknown => JSON.parse(JSON.stringify(value)));

/** The same value with the keys of every object in another order. */
function shuffled(value: unknown, order: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, order));
  if (typeof value !== 'object' || value === null) return value;
  const keyed = Object.entries(value).map((entry) => ({ entry, at: order() }));
  const entries = keyed.sort((a, b) => a.at - b.at).map(({ entry }) => entry);
  return Object.fromEntries(entries.map(([key, item]) => [key, shuffled(item, order)]));
}

describe('digest of any arguments', () => {
  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(json, fc.infiniteStream(fc.nat()), (value, order) => {
        const other = shuffled(value, () => order.next().value ?? 0);
        expect(argumentsDigest(other)).toBe(argumentsDigest(value));
      }),
    );
  });

  it('differs for values that differ', () => {
    fc.assert(
      fc.property(json, json, (one, other) => {
        const same = sameJson(one, other);
        expect(argumentsDigest(one) === argumentsDigest(other)).toBe(same);
      }),
    );
  });

  it('changes with any one leaf', () => {
    const key = fc.string();
    fc.assert(
      fc.property(fc.dictionary(key, json, { minKeys: 1 }), fc.nat(), json, (value, pick, leaf) => {
        const keys = Object.keys(value);
        const changed = Object.fromEntries(Object.entries(value));
        const at = keys[pick % keys.length] ?? '';
        fc.pre(!sameJson(value[at], leaf));
        Object.defineProperty(changed, at, { value: leaf, enumerable: true });
        expect(argumentsDigest(changed)).not.toBe(argumentsDigest(value));
      }),
    );
  });

  it('hashes text that parses back to the same value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
      }),
    );
  });
});

/** Equality of JSON values, written down apart from any text form. */
function sameJson(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => sameJson(item, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && sameJson(one[key], other[key]))
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
