import { describe, expect, it } from 'vitest';
import { ARGUMENTS_DEPTH_MAX, argumentsDigest, canonicalJson } from '../../src/hitl/digest.ts';

describe('digest of arguments', () => {
  it('has the form that the wire promises', () => {
    // sha256 of the two characters "{}".
    expect(argumentsDigest({})).toBe(
      'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    );
  });

  it('hashes keys sorted at every depth, without white space', () => {
    const value = { b: [{ z: 1, a: 'é"' }, null], a: { d: true, c: 1.5 }, '10': 0, '9': 0 };
    expect(canonicalJson(value)).toBe(
      '{"10":0,"9":0,"a":{"c":1.5,"d":true},"b":[{"a":"é\\"","z":1},null]}',
    );
  });

  it('leaves out keys without a value', () => {
    expect(argumentsDigest({ a: 1, b: undefined })).toBe(argumentsDigest({ a: 1 }));
  });

  it('takes a key called __proto__ for a key', () => {
    const sent: unknown = JSON.parse('{"__proto__":{"a":1}}');
    expect(canonicalJson(sent)).toBe('{"__proto__":{"a":1}}');
  });

  it.each([[Number.NaN], [Number.POSITIVE_INFINITY], [1n], [() => 0], [[undefined]]])(
    'refuses %s, which JSON cannot say',
    (value) => {
      expect(() => argumentsDigest({ value })).toThrow(TypeError);
    },
  );

  it('refuses arguments that nest too deep instead of running out of stack', () => {
    const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    expect(() => argumentsDigest(nested(ARGUMENTS_DEPTH_MAX + 2))).toThrow('nest deeper');
    expect(argumentsDigest(nested(ARGUMENTS_DEPTH_MAX))).toMatch(/^sha256:/);
  });
});
