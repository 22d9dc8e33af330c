import { z } from 'zod';
import { compilePattern, PatternSyntaxError } from './rules/pattern.ts';

/** What a person may be asked for under one name: the protocol's restricted subset of JSON Schema. */
export type Field = z.infer<typeof FieldSchema>;

const length = z.int().min(0);
const labels = { title: z.string().optional(), description: z.string().optional() };
/** A choice and what is shown in its place. */
const Choice = z.strictObject({ const: z.string(), title: z.string().optional() });
const choices = z.array(Choice).min(1);
const values = z.array(z.string()).min(1);

const TextField = z.strictObject({
  type: z.literal('string'),
  ...labels,
  minLength: length.optional(),
  maxLength: length.optional(),
  pattern: z.string().superRefine(refusePattern).optional(),
  format: z.enum(['email', 'uri', 'date', 'date-time']).optional(),
  enum: values.optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: choices.optional(),
  default: z.string().optional(),
});

const NumberField = z.strictObject({
  type: z.enum(['number', 'integer']),
  ...labels,
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
  default: z.number().optional(),
});

const FlagField = z.strictObject({
  type: z.literal('boolean'),
  ...labels,
  default: z.boolean().optional(),
});

const ListField = z.strictObject({
  type: z.literal('array'),
  ...labels,
  minItems: length.optional(),
  maxItems: length.optional(),
  uniqueItems: z.boolean().optional(),
  items: z.union([
    z.strictObject({ type: z.literal('string'), enum: values }),
    z.strictObject({ type: z.literal('string').optional(), anyOf: choices }),
    z.strictObject({ type: z.literal('string').optional(), oneOf: choices }),
  ]),
  default: z.array(z.string()).optional(),
});

/** Strict: a keyword that nothing here checks would be a promise that nobody keeps. */
export const FieldSchema = z.discriminatedUnion('type', [
  TextField,
  NumberField,
  FlagField,
  ListField,
]);

/** A server's pattern meets what a person wrote, so it must be one whose time is bounded. */
function refusePattern(source: string, context: z.RefinementCtx<string>): void {
  try {
    compilePattern(source);
  } catch (error) {
    if (!(error instanceof PatternSyntaxError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
  }
}

/** Whether a value is an answer to the field. */
export const fits = (field: Field, value: unknown): boolean =>
  validatorOf(field).safeParse(value).success;

function validatorOf(field: Field): z.ZodType {
  switch (field.type) {
    case 'string':
      return textValidator(field);
    case 'boolean':
      return z.boolean();
    case 'array':
      return listValidator(field);
    default:
      return numberValidator(field);
  }
}

type Text = z.infer<typeof TextField>;

function textValidator(field: Text): z.ZodType {
  const { minLength = 0, maxLength = Infinity, pattern } = field;
  const allowed = choicesOf(field);
  const matches = pattern === undefined ? undefined : compilePattern(pattern);
  return formatValidator(field).refine((text) => {
    // JSON Schema counts characters, not the units that they are kept in.
    const characters = Array.from(text).length;
    return (
      characters >= minLength &&
      characters <= maxLength &&
      (allowed === undefined || allowed.includes(text)) &&
      (matches === undefined || matches(text) === true)
    );
  });
}

function formatValidator({ format }: Text): z.ZodType<string> {
  switch (format) {
    case 'email':
      return z.email({ pattern: z.regexes.html5Email });
    case 'uri':
      // The parser of URLs drops white space around them.
      return z.string().regex(/^\S+$/).pipe(z.url());
    case 'date':
      return z.iso.date();
    case 'date-time':
      return z.iso.datetime({ offset: true });
    default:
      return z.string();
  }
}

function numberValidator(field: z.infer<typeof NumberField>): z.ZodType {
  const { minimum = -Infinity, maximum = Infinity } = field;
  const { exclusiveMinimum: above = -Infinity, exclusiveMaximum: below = Infinity } = field;
  const base = field.type === 'integer' ? z.int() : z.number();
  return base.refine((n) => n >= minimum && n <= maximum && n > above && n < below);
}

function listValidator(field: z.infer<typeof ListField>): z.ZodType {
  const { minItems = 0, maxItems = Infinity, uniqueItems = false } = field;
  return z
    .array(z.enum(itemChoices(field)))
    .refine(({ length: count }) => count >= minItems && count <= maxItems)
    .refine((items) => !uniqueItems || new Set(items).size === items.length);
}

function choicesOf({ enum: listed, oneOf }: Text): readonly string[] | undefined {
  const titled = oneOf?.map((choice) => choice.const);
  if (listed === undefined || titled === undefined) return listed ?? titled;
  return listed.filter((value) => titled.includes(value));
}

function itemChoices({ items }: z.infer<typeof ListField>): readonly string[] {
  if ('enum' in items) return items.enum;
  const titled = 'anyOf' in items ? items.anyOf : items.oneOf;
  return titled.map((choice) => choice.const);
}

/** How many choices are named to who chose none of them. */
const CHOICES_NAMED_MAX = 20;

/** Whether its bounds leave room for any answer. */
export function isAnswerable(field: Field): boolean {
  switch (field.type) {
    case 'string': {
      const allowed = choicesOf(field);
      if (allowed !== undefined) return allowed.some((value) => fits(field, value));
      return (field.minLength ?? 0) <= (field.maxLength ?? Infinity);
    }
    case 'boolean':
      return true;
    case 'array':
      return (field.minItems ?? 0) <= (field.maxItems ?? Infinity);
    default:
      return (field.minimum ?? -Infinity) <= (field.maximum ?? Infinity);
  }
}

/** What would be an answer to the field, in words. */
export function wanted(field: Field): string {
  switch (field.type) {
    case 'string':
      return wantedText(field);
    case 'boolean':
      return 'true or false';
    case 'array': {
      const count = between(field.minItems, field.maxItems, 'choices');
      const unique = field.uniqueItems === true ? ', each at most once' : '';
      return `a list of ${named(itemChoices(field))}${count === '' ? '' : ` (${count})`}${unique}`;
    }
    default:
      return wantedNumber(field);
  }
}

const FORMATS = {
  email: 'an e-mail address',
  uri: 'an absolute URI',
  date: 'a date such as 2031-01-31',
  'date-time': 'a date and time with its zone, such as 2031-01-31T12:00:00Z',
} as const;

function wantedText(field: Text): string {
  const allowed = choicesOf(field);
  if (allowed !== undefined) return `one of ${named(allowed)}`;
  const kind = field.format === undefined ? 'a text' : FORMATS[field.format];
  const count = between(field.minLength, field.maxLength, 'characters');
  const pattern = field.pattern === undefined ? '' : ` that matches ${field.pattern}`;
  return `${kind}${count === '' ? '' : ` of ${count}`}${pattern}`;
}

function wantedNumber(field: z.infer<typeof NumberField>): string {
  const kind = field.type === 'integer' ? 'a whole number' : 'a number';
  const bounds = [
    ['at least', field.minimum],
    ['at most', field.maximum],
    ['more than', field.exclusiveMinimum],
    ['less than', field.exclusiveMaximum],
  ].flatMap(([word, bound]) => (bound === undefined ? [] : [`${word} ${bound}`]));
  return bounds.length === 0 ? kind : `${kind} of ${bounds.join(' and ')}`;
}

function between(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most} ${unit}`;
  if (least !== undefined) return `at least ${least} ${unit}`;
  return most === undefined ? '' : `at most ${most} ${unit}`;
}

function named(allowed: readonly string[]): string {
  const shown = allowed.slice(0, CHOICES_NAMED_MAX).map((value) => JSON.stringify(value));
  const more = allowed.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}
