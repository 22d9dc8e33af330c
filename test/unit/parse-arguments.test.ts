import { describe, expect, it } from 'vitest';
import { isTooDeep, JSON_DEPTH_MAX } from '../../src/json-depth.ts';
import { parseArguments } from '../../src/ports/parse-arguments.ts';

/** What a model may write is anything, so no depth of it may overflow the stack. */

const inLists = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

describe('depth of a JSON value', () => {
  it.each([0, '[[[', null, undefined, {}, [], [[], {}], { a: [1, { b: null }] }])(
    'is small for %j',
    (value) => {
      expect(isTooDeep(value)).toBe(false);
    },
  );

  it('counts objects and lists along the deepest way', () => {
    const deepest = JSON.parse(inLists(JSON_DEPTH_MAX)) as unknown;
    expect(isTooDeep(deepest)).toBe(false);
    expect(isTooDeep([deepest])).toBe(true);
    expect(isTooDeep({ a: 1, b: deepest, c: [] })).toBe(true);
  });

  it('does not follow a way to its end', () => {
    expect(isTooDeep(JSON.parse(inLists(1_000_000)))).toBe(true);
  });
});

describe('arguments of a tool call', () => {
  it.each(['', ' \n', '{}', '{"a":[1]}'])('are an object in %j', (text) => {
    expect(parseArguments(text)).toEqual(text.trim() === '' ? {} : JSON.parse(text));
  });

  it.each(['[]', '1', 'null', '"{}"', '{', '{"a":1}x'])('are none in %j', (text) => {
    expect(parseArguments(text)).toBeUndefined();
  });

  it.each([JSON_DEPTH_MAX, 5_000, 200_000])('are none when they nest %i levels more', (levels) => {
    expect(parseArguments(`{"a":${inLists(levels)}}`)).toBeUndefined();
    expect(parseArguments(`{"a":${inLists(JSON_DEPTH_MAX - 1)}}`)).toBeDefined();
  });
});
