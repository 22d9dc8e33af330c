import { type Range, SECONDS_MAX, type ZeroSeconds } from './config/values.ts';
import { compileGlob, GlobSyntaxError } from './hitl/glob.ts';
import { nearest } from './nearest.ts';

/** Gives undefined for a value that is all right, else what would be. */
export type Check = (value: unknown) => string | undefined;

/** Sentences about a field, each with its name; none for one that is all right. */
export type FieldCheck = (name: string, value: unknown) => readonly string[];

export type Table<Key extends string, Of> = Readonly<Record<Key, Of>>;

/** What may be in an object, and what one of its keys is called. */
interface Known<Of> {
  readonly checks: Readonly<Record<string, Of>>;
  readonly what: string;
}

/** Checks what is there and what is missing, and refuses keys that nobody knows. */
export function fieldProblems(of: object, { checks, what }: Known<FieldCheck>): readonly string[] {
  // Any object may be read by names; a class may give some of them.
  const fields = of as Readonly<Record<string, unknown>>;
  return [
    ...Object.entries(checks).flatMap(([name, check]) => check(name, fields[name])),
    ...Object.keys(fields)
      .filter((name) => !Object.hasOwn(checks, name))
      .map((name) => unknownKey(name, name, { checks, what })),
  ];
}

/** Checks the values of an object of which all may be left out, but not be undefined. */
export function tableProblems(
  name: string,
  table: unknown,
  { checks, what }: Known<Check>,
): readonly string[] {
  if (table === undefined) return [];
  if (!isRecord(table)) return [`${name} is ${shown(table)}. Give an object.`];
  return Object.entries(table).flatMap(([key, value]) => {
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    if (check === undefined) return [unknownKey(`${name}.${key}`, key, { checks, what })];
    return required(check)(`${name}.${key}`, value);
  });
}

function unknownKey(place: string, key: string, { checks, what }: Known<unknown>): string {
  const names = Object.keys(checks);
  const close = nearest(key, names);
  const advice = close === undefined ? `Known: ${names.join(', ')}.` : `Did you mean "${close}"?`;
  return `${place} is not a known ${what}. ${advice}`;
}

export const required =
  (check: Check): FieldCheck =>
  (name, value) => {
    const remedy = check(value);
    return remedy === undefined ? [] : [`${name} is ${shown(value)}. ${remedy}`];
  };

/** A field that may be left out. */
export const optional =
  (check: Check): FieldCheck =>
  (name, value) =>
    value === undefined ? [] : required(check)(name, value);

const MS_PER_SECOND = 1_000;

/** The longest wait that fits a timer: what the configuration allows too. */
const MS_MAX = SECONDS_MAX * MS_PER_SECOND;

export function duration(zero: ZeroSeconds, max = MS_MAX): Check {
  const range = `Use milliseconds from 1 to ${max}`;
  const remedy = {
    off: `${range}, or 0 to turn it off.`,
    none: `${range}, or 0 for none.`,
    refused: `${range}; 0 makes no sense here.`,
  }[zero];
  return (value) => {
    if (value === 0 && zero !== 'refused') return undefined;
    return typeof value === 'number' && value >= 1 && value <= max ? undefined : remedy;
  };
}

export function count({ min, max }: Range): Check {
  const remedy = `Use a whole number from ${min} to ${max}.`;
  return (value) => {
    const isWhole = typeof value === 'number' && Number.isInteger(value);
    return isWhole && value >= min && value <= max ? undefined : remedy;
  };
}

export function oneOf(...known: readonly string[]): Check {
  const remedy = `Use ${known.map((value) => `"${value}"`).join(' or ')}.`;
  return (value) => (known.includes(value as string) ? undefined : remedy);
}

/** Text such as "no" is refused, because it would count as true. */
export const toggle: Check = (value) =>
  typeof value === 'boolean' ? undefined : 'Use true or false.';

export const text: Check = (value) => (typeof value === 'string' ? undefined : 'Use a text.');

/** An object of which only what it can do counts; `what` says what it stands for. */
export function methods(names: readonly string[], what: string): Check {
  const remedy = `Give ${what}: an object with the ${
    names.length === 1 ? 'method' : 'methods'
  } ${names.join(' and ')}.`;
  return (value) =>
    isRecord(value) && names.every((name) => typeof value[name] === 'function')
      ? undefined
      : remedy;
}

/** A list of globs, which may be left out. */
export const globs: FieldCheck = (name, value) => {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    return [`${name} is ${shown(value)}. Use a list of globs: ["delete_*"].`];
  }
  return value.flatMap((glob: unknown, at) => globProblems(name, glob, at));
};

function globProblems(name: string, glob: unknown, at: number): readonly string[] {
  if (!isName(glob)) return [`${name}[${at}] is ${shown(glob)}. Write a glob: "delete_*".`];
  try {
    compileGlob(glob);
    return [];
  } catch (error) {
    if (!(error instanceof GlobSyntaxError)) throw error;
    return [`${name} has "${glob}", which ${error.message}. Write a glob: "delete_*".`];
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '';

/** What is there more than once, each once. */
export const twice = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter((name, at) => names.indexOf(name) !== at)),
];

/** Longest value that is shown whole. */
const SHOWN_CHARS_MAX = 40;

/** A value as it stands in a sentence. What an object or a function holds is not shown. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN_CHARS_MAX));
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
