import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../src/ports/parse-arguments.ts';

describe('the arguments of a call', () => {
  it.each(['{"x":1e400}', '{"a":[{"x":-1e999}]}', '[1]', '"a"', 'null', '{bad'])(
    '%s cannot be read',
    (text) => {
      expect(parseArguments(text)).toBeUndefined();
    },
  );

  it.each([
    ['', {}],
    ['  ', {}],
    ['{"x":1e300,"y":[0.5]}', { x: 1e300, y: [0.5] }],
  ])('%j are read', (text, value) => {
    expect(parseArguments(text)).toEqual(value);
  });
});
