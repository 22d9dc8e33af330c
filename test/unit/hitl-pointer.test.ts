import { describe, expect, it } from 'vitest';
import { compilePointer, PointerSyntaxError } from '../../src/hitl/rules/pointer.ts';

/** The document of RFC 6901, section 5, and what its pointers lead to. */
const RFC = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
};

describe('JSON pointer', () => {
  it.each<[string, unknown]>([
    ['', RFC],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ])('%j finds what the RFC says', (pointer, value) => {
    expect(compilePointer(pointer)(RFC)).toEqual({ value });
  });

  it.each<[string, unknown]>([
    ['/foo/2', RFC],
    ['/foo/-', RFC],
    ['/foo/00', RFC],
    ['/foo/01', ['a', 'b']],
    ['/foo/+1', RFC],
    ['/foo/1e0', RFC],
    ['/foo/length', RFC],
    ['/foo/0/length', RFC],
    ['/foo/0/0', RFC],
    ['/toString', RFC],
    ['/__proto__', {}],
    ['/constructor/name', {}],
    ['/a/b', { a: null }],
    ['/a', null],
    ['/a', 'text'],
    ['/a', [1]],
  ])('%j finds nothing in %j', (pointer, document) => {
    expect(compilePointer(pointer)(document)).toBeUndefined();
  });

  it('tells a null from nothing', () => {
    expect(compilePointer('/a')({ a: null })).toEqual({ value: null });
  });

  it('unescapes once: "~01" is "~1"', () => {
    expect(compilePointer('/~01')({ '~1': 1, '/': 2 })).toEqual({ value: 1 });
  });

  it('finds names that objects inherit when the document has them itself', () => {
    const document: unknown = JSON.parse('{"__proto__": {"toString": 1}}');
    expect(compilePointer('/__proto__/toString')(document)).toEqual({ value: 1 });
  });

  it.each([
    ['a', 'does not begin with "/"'],
    ['#/a', 'does not begin with "/"'],
    ['/a~', 'has a "~" that is neither "~0" nor "~1"'],
    ['/~2', 'has a "~" that is neither "~0" nor "~1"'],
  ])('%j is refused because it %s', (pointer, message) => {
    expect(() => compilePointer(pointer)).toThrow(new PointerSyntaxError(message));
  });
});
