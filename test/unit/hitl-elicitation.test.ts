import { describe, expect, it } from 'vitest';
import { checkContent, checkSchema } from '../../src/hitl/elicitation.ts';

const asking = (properties: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  type: 'object',
  properties,
  ...more,
});

const one = (field: Record<string, unknown>) => asking({ a: field }, { required: ['a'] });

/** The name of a prototype, as JSON can write it and no literal can. */
const PROTO: unknown = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');

function nested(depth: number): unknown {
  let at: unknown = 'x';
  for (let level = 0; level < depth; level += 1) at = { at };
  return at;
}

describe('the schema of a question', () => {
  it.each([
    asking({}),
    asking({ a: { type: 'string', title: 'A', description: 'An a', default: 'x' } }),
    one({ type: 'string', minLength: 1, maxLength: 5, pattern: '^[a-z]+$' }),
    one({ type: 'string', format: 'date-time' }),
    one({ type: 'string', enum: ['x', 'y'], enumNames: ['X', 'Y'] }),
    one({ type: 'string', oneOf: [{ const: 'x', title: 'X' }] }),
    one({ type: 'integer', minimum: 1, maximum: 1, default: 1 }),
    one({ type: 'boolean', default: false }),
    one({ type: 'array', items: { type: 'string', enum: ['x'] }, minItems: 1, maxItems: 1 }),
    one({ type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] }, default: ['x'] }),
    {
      ...asking({}),
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      additionalProperties: false,
    },
  ])('%j may be asked with', (schema) => {
    expect(checkSchema(schema)).toBeUndefined();
  });

  it.each([
    [null, 'must be an object'],
    [[], 'must be an object'],
    [{ type: 'array', items: {} }, '`type`'],
    [{ type: 'object' }, '`properties`'],
    [one({ type: 'object', properties: {} }), '`properties.a.type`'],
    [one({ type: ['string', 'null'] }), '`properties.a.type`'],
    [one({ $ref: 'https://localhost/schema' }), '`properties.a.type`'],
    [one({ type: 'string', $ref: '#/x' }), 'not supported: "$ref"'],
    [{ ...asking({}), $defs: {} }, 'not supported: "$defs"'],
    [{ ...asking({}), allOf: [] }, 'not supported: "allOf"'],
    [one({ type: 'array', items: { type: 'number' } }), '`properties.a.items`'],
    [one({ type: 'array', items: { type: 'string' } }), '`properties.a.items`'],
    [one({ type: 'string', format: 'hostname' }), '`properties.a.format`'],
    [one({ type: 'string', pattern: '(?=a)b' }), '`properties.a.pattern`'],
    [one({ type: 'string', pattern: '(a)\\1' }), '`properties.a.pattern`'],
    [one({ type: 'string', enum: [] }), '`properties.a.enum`'],
    [one({ type: 'string', minLength: -1 }), '`properties.a.minLength`'],
    [one({ type: 'string', minLength: 3, maxLength: 2 }), 'No value is within the bounds'],
    [one({ type: 'string', enum: ['x'], minLength: 3 }), 'No value is within the bounds'],
    [one({ type: 'number', minimum: 3, maximum: 2 }), 'No value is within the bounds'],
    [asking({}, { required: ['b'] }), '`required` names "b"'],
    [PROTO, '"__proto__" cannot be the name'],
    [asking({ '': { type: 'string' } }), 'cannot be the name'],
    [asking({}, { title: 'x'.repeat(70_000) }), 'over 65536 bytes'],
    [asking({ a: nested(100_000) }), 'nests too deeply'],
    [
      asking(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, { type: 'boolean' }]))),
      'over 100 properties',
    ],
  ])('case %# is refused with the place and the reason', (schema, problem) => {
    expect(checkSchema(schema)).toContain(problem);
  });

  it('is refused in a short sentence, whatever a server wrote', () => {
    const keys = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`key ${n}`, n]));
    expect(checkSchema(one({ type: 'string', ...keys }))?.length).toBeLessThan(520);
  });
});

describe('the answer to a question', () => {
  it.each([
    [{ type: 'string' }, ['', 'x'], [1, null, true, ['x'], {}], 'a text'],
    [
      { type: 'string', minLength: 2, maxLength: 3 },
      ['ab', 'abc', '😀😀'],
      ['a', 'abcd', '😀'],
      'a text of 2 to 3 characters',
    ],
    [{ type: 'string', pattern: '^a+$' }, ['aa'], ['ab'], 'a text that matches ^a+$'],
    [{ type: 'string', format: 'email' }, ['a@b.example'], ['a', 'a@', '@b'], 'an e-mail address'],
    [
      { type: 'string', format: 'uri' },
      ['https://a.example/b?c', 'urn:a:b'],
      ['a', '/b', ' https://a.example', 'https://a b'],
      'an absolute URI',
    ],
    [{ type: 'string', format: 'date' }, ['2031-02-28'], ['2031-02-30', '1'], 'a date'],
    [
      { type: 'string', format: 'date-time' },
      ['2031-01-31T12:00:00Z', '2031-01-31T12:00:00.5+02:00'],
      ['2031-01-31', '2031-01-31T12:00:00', '2031-01-31T25:00:00Z'],
      'a date and time',
    ],
    [{ type: 'string', enum: ['x', 'y'] }, ['x'], ['z', ''], 'one of "x", "y"'],
    [{ type: 'string', oneOf: [{ const: 'x', title: 'X' }] }, ['x'], ['X'], 'one of "x"'],
    [{ type: 'number' }, [0, -1.5], ['1', NaN, Infinity, null], 'a number'],
    [
      { type: 'integer', minimum: 1, maximum: 5 },
      [1, 5],
      [0, 6, 1.5],
      'a whole number of at least 1 and at most 5',
    ],
    [
      { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      [0.5],
      [0, 1],
      'a number of more than 0 and less than 1',
    ],
    [{ type: 'boolean' }, [true, false], ['true', 0], 'true or false'],
    [
      {
        type: 'array',
        items: { type: 'string', enum: ['x', 'y'] },
        minItems: 1,
        uniqueItems: true,
      },
      [['x'], ['x', 'y']],
      [[], ['z'], 'x', ['x', 'x'], [1]],
      'a list of "x", "y" (at least 1 choices), each at most once',
    ],
    [
      { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] }, maxItems: 1 },
      [[], ['x']],
      [['X'], ['x', 'x']],
      'a list of "x" (at most 1 choices)',
    ],
  ])('to %j is checked', (field, good, bad, wanted) => {
    for (const a of good) expect(checkContent(one(field), { a })).toBeUndefined();
    for (const a of bad) expect(checkContent(one(field), { a })).toContain(`"a" must be ${wanted}`);
    expect(checkContent(one(field), {})).toContain(`"a" is missing; it must be ${wanted}`);
    expect(checkContent(asking({ a: field }), {})).toBeUndefined();
  });

  it('may be left out where nothing has to be said', () => {
    expect(checkContent(asking({}), undefined)).toBeUndefined();
    expect(checkContent(asking({}), null)).toBeUndefined();
    expect(checkContent(one({ type: 'boolean' }), undefined)).toContain('"a" is missing');
  });

  it.each([[[]], ['x'], [1], [true]])('is no %j', (content) => {
    expect(checkContent(one({ type: 'boolean' }), content)).toContain('must be an object with "a"');
  });

  it('says nothing that was not asked for, by no inherited name either', () => {
    const schema = one({ type: 'boolean' });
    expect(checkContent(schema, { a: true, b: 1 })).toContain('"b" is not asked for');
    expect(checkContent(schema, JSON.parse('{"a":true,"__proto__":{"x":1}}'))).toContain(
      '__proto__',
    );
    expect(
      checkContent(asking({ toString: { type: 'string' } }, { required: ['toString'] }), {}),
    ).toContain('"toString" is missing');
  });

  it('is bounded, and a pattern takes no time to refuse it', () => {
    const long = 'a'.repeat(70_000);
    expect(checkContent(one({ type: 'string' }), { a: long })).toContain('over 65536 bytes');
    const schema = one({ type: 'string', pattern: '^(a+)+$' });
    // An engine that goes back would not come to an end here.
    expect(checkContent(schema, { a: `${'a'.repeat(2_000)}!` })).toContain('that matches');
  });

  it('to a schema that may not be asked with is refused', () => {
    expect(checkContent({ type: 'array' }, {})).toContain('`type`');
  });
});
