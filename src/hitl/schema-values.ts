import { canonicalJson } from '../canonical-json.ts';
import { compilePattern, PatternSyntaxError } from './rules/pattern.ts';

/** A JSON Schema node as somebody else wrote it: nothing in it is as it should be before it is looked at. */
export type SchemaNode = Readonly<Record<string, unknown>>;

/** Pays for a look at a value, in steps of about two microseconds. */
export type Spend = (steps: number) => void;

/** Choices of a list that a problem names, and characters that it repeats of all of them. */
const CHOICES_SHOWN_MAX = 10;
const CHOICES_CHARS_MAX = 200;

/** A longer text is left to the tool: an expression by a stranger is to cost milliseconds, not more. */
const PATTERN_TEXT_CHARS_MAX = 256;
const PATTERN_STEPS = 2_000;

/** Characters that are read in one step. */
const STEP_CHARS = 64;

/**
 * What is wrong with a value by itself, whatever stands inside it, as the end of a sentence; undefined
 * when nothing is, or when the schema uses words that nobody here can tell.
 */
export function valueProblem(node: SchemaNode, value: unknown, spend: Spend): string | undefined {
  const problem = typeProblem(node, value) ?? choiceProblem(node, value, spend);
  if (problem !== undefined) return problem;
  if (typeof value === 'string') return textProblem(node, value, spend);
  if (typeof value === 'number') return numberProblem(node, value);
  if (Array.isArray(value)) return listProblem(node, value, spend);
  return undefined;
}

function typeProblem({ type, nullable }: SchemaNode, value: unknown): string | undefined {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (!types.every(isTypeName) || (value === null && nullable === true)) return undefined;
  if (types.some((name) => IS[name](value))) return undefined;
  const wanted = types.map((name) => NAMES[name]).join(' or ');
  return `must be ${wanted}, not ${kindOf(value)}`;
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const IS = Object.freeze({
  object: isRecord,
  array: (value: unknown) => Array.isArray(value),
  string: (value: unknown) => typeof value === 'string',
  number: (value: unknown) => typeof value === 'number',
  integer: (value: unknown) => Number.isInteger(value),
  boolean: (value: unknown) => typeof value === 'boolean',
  null: (value: unknown) => value === null,
});

type TypeName = keyof typeof IS;

const isTypeName = (name: unknown): name is TypeName =>
  typeof name === 'string' && Object.hasOwn(IS, name);

const NAMES: Readonly<Record<TypeName, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
};

function kindOf(value: unknown): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a fraction';
  const names = ['null', 'array', 'object', 'string', 'number'] as const;
  return NAMES[names.find((name) => IS[name](value)) ?? 'null'];
}

function choiceProblem(node: SchemaNode, value: unknown, spend: Spend): string | undefined {
  const choices = Object.hasOwn(node, 'const') ? [node['const']] : node['enum'];
  if (!Array.isArray(choices)) return undefined;
  const text = canonicalJson(value);
  spend(stepsOf(text));
  const isChoice = choices.some((choice) => {
    const shown = canonicalJson(choice);
    spend(stepsOf(shown));
    return shown === text;
  });
  return isChoice ? undefined : `must be ${listed(choices)}`;
}

const stepsOf = (text: string): number => Math.ceil(text.length / STEP_CHARS);

function listed(choices: readonly unknown[]): string {
  const shown = choices.slice(0, CHOICES_SHOWN_MAX).map(canonicalJson).join(', ');
  const isWhole = choices.length <= CHOICES_SHOWN_MAX && shown.length <= CHOICES_CHARS_MAX;
  const text = isWhole ? shown : `${shown.slice(0, CHOICES_CHARS_MAX)}, …`;
  return choices.length === 1 ? text : `one of ${text}`;
}

function textProblem(node: SchemaNode, text: string, spend: Spend): string | undefined {
  spend(stepsOf(text));
  const length = Array.from(text).length;
  const problem = boundsProblem(length, [node['minLength'], node['maxLength']], 'characters');
  if (problem !== undefined) return problem;
  const pattern = node['pattern'];
  if (typeof pattern !== 'string' || isMatch(pattern, text, spend) !== false) return undefined;
  return pattern.length > CHOICES_CHARS_MAX
    ? 'does not have the form that it must have'
    : `must match the pattern ${JSON.stringify(pattern)}`;
}

/** Whether a schema's expression is found in the text; undefined when that cannot be told. */
export function isMatch(pattern: string, text: string, spend: Spend): boolean | undefined {
  const isLong = text.length > PATTERN_TEXT_CHARS_MAX;
  spend(isLong ? 1 : PATTERN_STEPS);
  if (isLong) return undefined;
  try {
    return compilePattern(pattern)(text);
  } catch (error) {
    if (error instanceof PatternSyntaxError) return undefined;
    throw error;
  }
}

function numberProblem(node: SchemaNode, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node;
  if (typeof minimum === 'number' && value < minimum) return `must be ${minimum} or more`;
  if (typeof maximum === 'number' && value > maximum) return `must be ${maximum} or less`;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    return `must be more than ${exclusiveMinimum}`;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    return `must be less than ${exclusiveMaximum}`;
  // Steps that are fractions divide with an error that a right value must not suffer from.
  const isExact = Number.isSafeInteger(multipleOf) && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  const step = isExact ? Number(multipleOf) : 0;
  return step > 0 && value % step !== 0 ? `must be a multiple of ${step}` : undefined;
}

function listProblem(node: SchemaNode, list: unknown[], spend: Spend): string | undefined {
  const bounds = [node['minItems'], node['maxItems']] as const;
  const problem = boundsProblem(list.length, bounds, 'items');
  if (problem !== undefined || node['uniqueItems'] !== true) return problem;
  const texts = list.map((item) => canonicalJson(item));
  for (const text of texts) spend(stepsOf(text));
  return new Set(texts).size < texts.length ? 'must not hold the same twice' : undefined;
}

export function boundsProblem(
  count: number,
  [min, max]: readonly [unknown, unknown],
  what: string,
): string | undefined {
  if (typeof min === 'number' && count < min) return `must have at least ${min} ${what}`;
  if (typeof max === 'number' && count > max) return `must have at most ${max} ${what}`;
  return undefined;
}
