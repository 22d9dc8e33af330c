import { nearest } from '../nearest.ts';

/** A value that was read, or why it cannot be. */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      /** Goes on after the key. */
      readonly problem: string;
      readonly suggestion: string;
      /** The value is no secret by its kind, so the message may show it. */
      readonly quotable?: boolean;
    };

/**
 * Reads one value from any source: TOML gives it typed, flags and environment as text. Numbers and
 * switches are read from text everywhere, so that a template may stand for them.
 */
export type Reader<T> = (value: unknown) => Reading<T>;

/** Longer waits overflow the 32-bit milliseconds of a timer. */
export const SECONDS_MAX = 2_147_483;

const MS_PER_SECOND = 1_000;
const SECONDS_MIN = 1 / MS_PER_SECOND;

const good = <T>(value: T): Reading<T> => ({ ok: true, value });

/** What 0 seconds says: the deadline is off, there is no grace, or nothing sensible. */
export type ZeroSeconds = 'off' | 'none' | 'refused';

export interface SecondsOptions {
  /** In seconds; without it, as long as a timer can wait. */
  readonly max?: number;
  /** What one writes 0 for, where that turns something off. */
  readonly offWords?: string;
}

/** Seconds, decimals allowed; gives whole milliseconds. */
export function seconds(zero: ZeroSeconds, options: SecondsOptions = {}): Reader<number> {
  const { max = SECONDS_MAX, offWords = 'to turn it off' } = options;
  const suggestion = secondsAdvice(zero, { max, offWords });
  return (value) => {
    const number = toNumber(value);
    if (number === undefined) {
      return { ok: false, problem: 'is not a number of seconds', suggestion, quotable: true };
    }
    const least = zero === 'refused' || number !== 0 ? SECONDS_MIN : 0;
    if (number >= least && number <= max) return good(Math.round(number * MS_PER_SECOND));
    return { ok: false, problem: 'is out of range', suggestion, quotable: true };
  };
}

function secondsAdvice(zero: ZeroSeconds, { max, offWords }: Required<SecondsOptions>): string {
  const range = `Use a number of seconds from ${SECONDS_MIN} to ${max}`;
  if (zero === 'off') return `${range}, or 0 ${offWords}.`;
  if (zero === 'none') return `${range}, or 0 for none.`;
  return `${range}; 0 makes no sense here.`;
}

export interface Range {
  readonly min: number;
  readonly max: number;
  /** What the edge means, as the end of a sentence: "0 is unlimited". */
  readonly note?: string;
}

export function integer({ min, max, note }: Range): Reader<number> {
  const suggestion = `Use a whole number from ${min} to ${max}${note ? `; ${note}` : ''}.`;
  return (value) => {
    const number = toNumber(value);
    if (number === undefined || !Number.isInteger(number)) {
      return { ok: false, problem: 'is not a whole number', suggestion, quotable: true };
    }
    if (number >= min && number <= max) return good(number);
    return { ok: false, problem: 'is out of range', suggestion, quotable: true };
  };
}

export function decimal({ min, max }: Range): Reader<number> {
  const suggestion = `Use a number from ${min} to ${max}.`;
  return (value) => {
    const number = toNumber(value);
    if (number === undefined) {
      return { ok: false, problem: 'is not a number', suggestion, quotable: true };
    }
    if (number >= min && number <= max) return good(number);
    return { ok: false, problem: 'is out of range', suggestion, quotable: true };
  };
}

const TRUE_WORDS: ReadonlySet<string> = new Set(['1', 'true', 'yes', 'on', 't', 'y']);
const FALSE_WORDS: ReadonlySet<string> = new Set(['0', 'false', 'no', 'off', 'f', 'n']);

export const toggle: Reader<boolean> = (value) => {
  const word = String(value).trim().toLowerCase();
  const readable = ['boolean', 'string', 'number'].includes(typeof value);
  if (readable && TRUE_WORDS.has(word)) return good(true);
  if (readable && FALSE_WORDS.has(word)) return good(false);
  const suggestion = 'Use true or false (1/0, yes/no and on/off are understood too).';
  return { ok: false, problem: 'is neither true nor false', suggestion, quotable: true };
};

/** One of a few words, spelt as they stand here. */
export function oneOf<const T extends string>(words: readonly T[]): Reader<T> {
  const known = `Use ${words.map((word) => `"${word}"`).join(', ')}.`;
  return (value) => {
    const found = words.find((word) => word === value);
    if (found !== undefined) return good(found);
    if (typeof value !== 'string')
      return { ok: false, problem: 'is not a string', suggestion: known };
    const close = nearest(value, words);
    const suggestion = close === undefined ? known : `Did you mean "${close}"? ${known}`;
    return { ok: false, problem: 'is not a known value', suggestion, quotable: true };
  };
}

/** They break headers and terminals, and no name, model or key has one. */
const CONTROL = /\p{Cc}/u;

/** One line of text with something in it. `example` stands in the advice. */
export function text(example: string): Reader<string> {
  return (value) => {
    if (typeof value !== 'string') {
      return {
        ok: false,
        problem: 'is not a string',
        suggestion: `Write it in quotes: ${example}.`,
      };
    }
    if (value.trim() === '') {
      return { ok: false, problem: 'is empty', suggestion: `Give it a value: ${example}.` };
    }
    if (!CONTROL.test(value)) return good(value);
    return {
      ok: false,
      problem: 'holds a control character, such as a line break or a tab',
      suggestion: `Write it on one line: ${example}.`,
    };
  };
}

/** An absolute `http://` or `https://` address, as it was written. */
export const httpUrl: Reader<string> = (value) => {
  const suggestion = 'Use an address that starts with http:// or https://.';
  if (typeof value !== 'string') return { ok: false, problem: 'is not a string', suggestion };
  const url = URL.parse(value);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return good(value);
  return { ok: false, problem: 'is not a web address', suggestion };
};

/** Origins as a list, or as text with commas between them. */
export const origins: Reader<readonly string[]> = (value) => {
  const suggestion = 'Write each as scheme://host or scheme://host:port, without a path.';
  const list = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
  if (!Array.isArray(list) || list.some((item) => typeof item !== 'string')) {
    return { ok: false, problem: 'is not a list of origins', suggestion };
  }
  const wrong = list.find((item) => URL.parse(item)?.origin !== item);
  if (wrong === undefined) return good(list);
  return { ok: false, problem: `holds "${wrong}", which is not an origin`, suggestion };
};

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Undefined for what is not a number; NaN is none. `Number()` alone takes '' and '0x10'. */
function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'string' || !NUMBER.test(value.trim())) return undefined;
  return Number(value);
}
