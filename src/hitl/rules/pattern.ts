import { RE2JS, RE2JSException, RE2JSSyntaxException } from 're2js';

/** Characters of one pattern. */
export const PATTERN_CHARS_MAX = 1_000;

/** Steps of one compiled pattern: a repetition counts as often as it is written, `[ab]{900}` 900. */
export const PATTERN_SIZE_MAX = 2_000;

/**
 * Steps times characters of one match. The slowest takes some tens of nanoseconds for each, so that
 * this is about a tenth of a second at worst, in which nobody else is served, and a millisecond as a
 * rule. A pattern of ten steps meets two hundred thousand characters.
 */
export const MATCH_STEPS_MAX = 2_000_000;

/** A text that is no pattern we match. The message says what is wrong, as the end of a sentence. */
export class PatternSyntaxError extends Error {
  override readonly name = 'PatternSyntaxError';
}

/** Whether the pattern is found anywhere in the text; undefined: the text is too long to tell. */
export type Pattern = (text: string) => boolean | undefined;

/**
 * Compiles a regular expression in RE2's syntax. Operators' patterns meet text that a model wrote, so
 * the engine is one whose time grows with the length of the text and never explodes. Therefore
 * look-around and back references are refused. `(?i)` in front ignores case, `(?s)` lets `.` match line
 * breaks too, and `^` and `$` are the ends of the text unless `(?m)` makes them those of lines.
 *
 * Throws {@link PatternSyntaxError}.
 */
export function compilePattern(source: string): Pattern {
  if (source.length > PATTERN_CHARS_MAX) {
    throw new PatternSyntaxError(`is longer than ${PATTERN_CHARS_MAX} characters`);
  }
  const expression = parse(source);
  const size = expression.programSize();
  if (size > PATTERN_SIZE_MAX) {
    throw new PatternSyntaxError(
      `repeats too much: ${size} steps, where ${PATTERN_SIZE_MAX} may be`,
    );
  }
  const charsMax = Math.floor(MATCH_STEPS_MAX / size);
  return (text) => (text.length > charsMax ? undefined : expression.test(text));
}

function parse(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new PatternSyntaxError(told(error));
  }
}

/** The engine's own message repeats "error parsing regexp", and its part of the pattern may be all of it. */
function told(error: RE2JSException): string {
  if (!(error instanceof RE2JSSyntaxException)) return 'is no regular expression that we match';
  const part =
    error.input === null || error.input === '' ? '' : ` at "${error.input.slice(0, 40)}"`;
  return `is no regular expression that we match: ${error.error}${part}`;
}
