import { describe, expect, it } from 'vitest';
import { misfitOf, type SchemaReading } from '../../src/hitl/schema-check.ts';

/**
 * Values against schemas that strangers wrote. The hazard is twofold: refusing what the tool would have
 * taken, and hanging on a schema that was made for it.
 */

const props = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

/** Where it does not fit, as dotted names; undefined where it fits or cannot be told. */
const at = (schema: unknown, value: unknown, reading?: SchemaReading): string | undefined =>
  misfitOf(schema, value, reading)?.path.join('.');

const TREE = {
  $ref: '#/$defs/node',
  $defs: {
    node: props(
      { name: { type: 'string' }, next: { $ref: '#/$defs/node' } },
      { required: ['name'] },
    ),
  },
};

describe('a value that does not fit', () => {
  it.each<[string, object, unknown, string]>([
    ['type', { type: 'object' }, [], 'must be an object, not a list'],
    ['types', { type: ['string', 'null'] }, 1, 'must be a text or null, not a number'],
    ['integer', { type: 'integer' }, 1.5, 'must be a whole number, not a fraction'],
    ['boolean', { type: 'boolean' }, 'true', 'must be true or false, not a text'],
    ['const', { const: { a: 1 } }, { a: 2 }, 'must be {"a":1}'],
    ['enum', { enum: ['a', 2] }, 'b', 'must be one of "a", 2'],
    ['minLength', { minLength: 2 }, '😀', 'must have at least 2 characters'],
    ['maxLength', { maxLength: 1 }, 'ab', 'must have at most 1 characters'],
    ['pattern', { pattern: '^a+$' }, 'ab', 'must match the pattern "^a+$"'],
    ['minimum', { minimum: 2 }, 1, 'must be 2 or more'],
    ['maximum', { maximum: 2 }, 3, 'must be 2 or less'],
    ['exclusiveMinimum', { exclusiveMinimum: 2 }, 2, 'must be more than 2'],
    ['exclusiveMaximum', { exclusiveMaximum: 2 }, 2, 'must be less than 2'],
    ['multipleOf', { multipleOf: 5 }, 7, 'must be a multiple of 5'],
    ['minItems', { minItems: 1 }, [], 'must have at least 1 items'],
    ['maxItems', { maxItems: 1 }, [1, 2], 'must have at most 1 items'],
    [
      'uniqueItems',
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      'must not hold the same twice',
    ],
    ['minProperties', { minProperties: 1 }, {}, 'must have at least 1 properties'],
    ['allOf', { allOf: [{}, { minimum: 2 }] }, 1, 'must be 2 or more'],
    [
      'anyOf',
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
      true,
      'has none of the forms it may have',
    ],
    [
      'oneOf with null',
      { oneOf: [{ type: 'null' }, { minLength: 2 }] },
      'a',
      'must have at least 2 characters',
    ],
    ['false', { not: {}, allOf: [false] }, 1, 'must be left out'],
  ])('by %s is told how', (_word, schema, value, problem) => {
    expect(misfitOf(schema, value)).toEqual({ path: [], problem });
  });

  it.each<[object, unknown, string]>([
    [props({ a: { type: 'string' } }), { a: 1 }, 'a'],
    [props({}, { required: ['a'] }), { b: 1 }, 'a'],
    [props({}, { required: ['a'] }), { a: undefined }, 'a'],
    [props({}, { required: ['toString'] }), {}, 'toString'],
    [props({ a: {} }, { additionalProperties: false }), { a: 1, b: 1 }, 'b'],
    [props({}, { additionalProperties: { type: 'number' } }), { b: 'x' }, 'b'],
    [props({}, { patternProperties: { '^n_': { type: 'number' } } }), { n_a: 'x' }, 'n_a'],
    [props({ a: { items: { type: 'number' } } }), { a: [1, 'x'] }, 'a.1'],
    [props({ a: { prefixItems: [{}, { type: 'number' }] } }), { a: ['x', 'x'] }, 'a.1'],
    [props({ a: { items: [{}, { type: 'number' }] } }), { a: ['x', 'x', 'x'] }, 'a.1'],
    [TREE, { name: 'a', next: { name: 'b', next: {} } }, 'next.next.name'],
  ])('%o: %o is told where', (schema, value, path) => {
    expect(at(schema, value)).toBe(path);
  });
});

describe('a value that fits, or of which nobody can tell', () => {
  it.each<[string, unknown, unknown]>([
    ['no schema', undefined, { a: 1 }],
    ['a schema that is a list', [{ type: 'string' }], 1],
    ['true', { properties: { a: true } }, { a: 1 }],
    ['an unknown type', { type: 'file' }, 1],
    ['a type of an inherited name', { type: 'toString' }, 1],
    ['a whole number written as 1.0', { type: 'integer' }, 1.0],
    ['nullable', { type: 'string', nullable: true }, null],
    ['words for other types', { minLength: 9, minItems: 9, minimum: 9 }, {}],
    ['format, not and if', { format: 'email', not: {}, if: {}, else: false }, 'x'],
    ['two forms of a oneOf', { oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3],
    ['a form that is null', { anyOf: [{ type: 'string' }, { type: 'null' }] }, null],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }, 1],
    ['a reference to nothing', { $ref: '#/$defs/gone' }, 1],
    ['a reference that is no pointer', { $ref: '#node%' }, 1],
    [
      'what stands beside a reference',
      { $ref: '#/$defs/any', type: 'string', $defs: { any: {} } },
      1,
    ],
    ['a pattern of another syntax', { pattern: '^(?=a)b' }, 'c'],
    ['a long text', { pattern: '^a+$' }, 'b'.repeat(300)],
    [
      'a name by a pattern that is not known',
      { patternProperties: { '(?=a)': {} }, additionalProperties: false },
      { a: 1 },
    ],
    ['fractions and their steps', { multipleOf: 0.1 }, 0.3],
    ['bounds that are no numbers', { minimum: '9', maxLength: null, required: 'a', enum: 'b' }, 1],
    ['a property that is not there', props({ a: { type: 'string' } }), { a: undefined }],
    [
      'the property "__proto__"',
      props({}, { additionalProperties: { type: 'number' } }),
      JSON.parse('{"__proto__": 1}'),
    ],
  ])('is not refused: %s', (_what, schema, value) => {
    expect(misfitOf(schema, value)).toBeUndefined();
  });
});

describe('a null', () => {
  const schema = props({ a: { type: 'string' }, b: { type: 'string' } }, { required: ['a'] });

  it('stands for an absent optional property where that is said, and for no other', () => {
    expect(at(schema, { a: 'x', b: null })).toBe('b');
    expect(at(schema, { a: 'x', b: null }, { nullIsAbsent: true })).toBeUndefined();
    expect(at(schema, { a: null }, { nullIsAbsent: true })).toBe('a');
  });
});

describe('a schema that was made to hang its reader', () => {
  const deep = (depth: number): unknown =>
    depth === 0 ? { type: 'string' } : { properties: { a: deep(depth - 1) } };
  const twice = { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] };
  const list = (length: number) => Array.from({ length }, (_, n) => n);

  it.each<[string, unknown, unknown]>([
    ['refers to itself', { allOf: [{ $ref: '#' }] }, {}],
    ['is one reference to itself', { $ref: '#' }, {}],
    [
      'doubles with each level',
      { ...twice, $defs: { a: { type: 'object', properties: { n: { $ref: '#' } } } } },
      nested(60),
    ],
    ['nests too deeply', deep(5_000), nested(20)],
    ['has numbers that are none', { const: Infinity }, 1],
    [
      'holds many patterns',
      { patternProperties: Object.fromEntries(list(5_000).map((n) => [`(a|b){500}${n}`, {}])) },
      { ['a'.repeat(200)]: 1 },
    ],
    ['holds many choices', { items: { enum: list(50_000) } }, list(50_000)],
  ])('is given up: it %s', (_how, schema, value) => {
    expect(misfitOf(schema, value)).toBeUndefined();
  });

  /** `{ n: { n: … } }`. */
  function nested(depth: number): unknown {
    let value: unknown = 1;
    for (let level = 0; level < depth; level += 1) value = { n: value };
    return value;
  }
});
