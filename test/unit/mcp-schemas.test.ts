import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { restoreArguments, sanitizeSchema } from '../../src/mcp/schemas.ts';

describe('a sanitised schema', () => {
  it('closes objects and makes optional properties required and nullable', () => {
    expect(
      sanitizeSchema({
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: {
          city: { type: 'string', description: 'Where' },
          days: { type: 'integer' },
          unit: { type: 'string', enum: ['c', 'f'] },
          kind: { const: 'x', description: 'Which' },
        },
        required: ['city'],
      }),
    ).toEqual({
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Where' },
        days: { type: ['integer', 'null'] },
        unit: { type: ['string', 'null'], enum: ['c', 'f', null] },
        kind: { anyOf: [{ const: 'x' }, { type: 'null' }], description: 'Which' },
      },
      required: ['city', 'days', 'unit', 'kind'],
      additionalProperties: false,
    });
  });

  it('goes into items, definitions and nested objects', () => {
    const inner = { type: 'object', properties: { a: { type: 'string' } } };
    const closed = {
      type: 'object',
      properties: { a: { type: ['string', 'null'] } },
      required: ['a'],
      additionalProperties: false,
    };
    expect(
      sanitizeSchema({
        type: 'object',
        properties: { list: { type: 'array', items: inner }, ref: { $ref: '#/$defs/inner' } },
        required: ['list', 'ref'],
        $defs: { inner },
      }),
    ).toEqual({
      type: 'object',
      properties: { list: { type: 'array', items: closed }, ref: { $ref: '#/$defs/inner' } },
      required: ['list', 'ref'],
      additionalProperties: false,
      $defs: { inner: closed },
    });
  });

  it.each([
    ['a union of one', { anyOf: [{ type: 'string' }] }, { type: 'string' }],
    [
      'a union with null',
      { oneOf: [{ type: 'string' }, { type: 'null' }], description: 'd' },
      { type: ['string', 'null'], description: 'd' },
    ],
    [
      'a union of several',
      { oneOf: [{ type: 'string' }, { type: 'number' }] },
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
    ],
    [
      'parts of an object',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: { type: 'string' } }, required: ['b'] },
        ],
      },
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        required: ['a', 'b'],
        additionalProperties: false,
      },
    ],
  ])('simplifies %s', (_title, property, expected) => {
    const schema = { type: 'object', properties: { p: property }, required: ['p'] };
    expect(sanitizeSchema(schema)).toMatchObject({ properties: { p: expected } });
  });

  it('leaves a map of free keys open', () => {
    const map = { type: 'object', additionalProperties: { type: 'string' } };
    const schema = { type: 'object', properties: { map }, required: ['map'] };
    expect(sanitizeSchema(schema)).toMatchObject({ properties: { map } });
  });

  it('is a tool without arguments when the root has no properties', () => {
    expect(sanitizeSchema({ type: 'object' })).toEqual({
      type: 'object',
      properties: {},
      required: [],
      additionalProperties: false,
    });
  });

  it.each([[{ type: 'string' }], [{ anyOf: [{ type: 'object' }] }], [{}]])(
    'refuses the root %j',
    (schema) => expect(sanitizeSchema(schema)).toBeUndefined(),
  );

  it('ends for a schema that is nested beyond reason', () => {
    let schema: Record<string, unknown> = { type: 'string' };
    for (let depth = 0; depth < 5_000; depth += 1)
      schema = { type: 'object', properties: { p: schema } };
    expect(sanitizeSchema(schema)).toMatchObject({ type: 'object' });
  });
});

describe('restored arguments', () => {
  const schema = {
    type: 'object',
    properties: {
      must: { type: ['string', 'null'] },
      may: { type: 'string' },
      free: {},
      nullable: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      nested: { $ref: '#/$defs/nested' },
      list: { type: 'array', items: { $ref: '#/$defs/nested' } },
    },
    required: ['must'],
    $defs: { nested: { type: 'object', properties: { deep: { type: 'number' } } } },
  };

  it('leave out the nulls of optional properties that may not be null, at every depth', () => {
    const args = {
      must: null,
      may: null,
      free: null,
      nullable: null,
      nested: { deep: null },
      list: [{ deep: null }, { deep: 1 }],
      unknown: null,
    };
    expect(restoreArguments(args, schema)).toEqual({
      must: null,
      free: null,
      nullable: null,
      nested: {},
      list: [{}, { deep: 1 }],
      unknown: null,
    });
  });

  it('are the arguments themselves where no null was written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('must', 'may', 'other'), fc.string()), (args) => {
        expect(restoreArguments(args, schema)).toEqual(args);
      }),
    );
  });

  it('do not follow a reference in a circle for ever', () => {
    const circle = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { $ref: '#/$defs/a' } },
    };
    expect(restoreArguments({ a: null }, circle)).toEqual({});
  });
});
