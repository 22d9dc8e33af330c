import { RE2JS } from 're2js';

/** Alternatives may nest; no sane pattern needs more. */
export const GLOB_DEPTH_MAX = 8;

/** A pattern that is not a glob. The message says what is wrong and where. */
export class GlobSyntaxError extends Error {
  override readonly name = 'GlobSyntaxError';
}

export type GlobMatcher = (name: string) => boolean;

/**
 * Compiles a glob over tool names with globset's syntax: `*` and `**` match any text, `?` one
 * character, `[ab]`, `[a-z]` and `[!a]` one of or none of a set, `{a,b}` alternatives that may
 * nest, and a backslash takes the next character as it is. Upper and lower case differ.
 *
 * A name matches as a whole, whatever characters it has: line breaks, dots and slashes are text like
 * any other. A gate that matched less than its author meant would let a tool run unasked. The
 * pattern becomes a regular expression of an engine whose time is linear, since names come from
 * tool servers.
 */
export function compileGlob(pattern: string): GlobMatcher {
  const reader: Reader = { pattern, at: 0 };
  const expression = RE2JS.compile(readText(reader, 0), RE2JS.DOTALL);
  return (name) => expression.testExact(name);
}

interface Reader {
  readonly pattern: string;
  at: number;
}

/** Reads to the end, or to the `,` or `}` that ends an alternative. */
function readText(reader: Reader, depth: number): string {
  let plain = '';
  while (reader.at < reader.pattern.length) {
    const char = reader.pattern.charAt(reader.at);
    if (depth > 0 && (char === ',' || char === '}')) return plain;
    if (char === '}') fail(reader, 'a "}" without its "{"');
    plain += readOne(reader, char, depth);
  }
  return plain;
}

function readOne(reader: Reader, char: string, depth: number): string {
  if (char === '{') return readAlternatives(reader, depth + 1);
  if (char === '[') return readClass(reader);
  if (char === '*') return readStars(reader);
  reader.at += 1;
  if (char === '?') return '.';
  return escaped(char === '\\' ? readEscape(reader) : char);
}

function readStars(reader: Reader): string {
  while (reader.pattern.charAt(reader.at) === '*') reader.at += 1;
  return '.*';
}

function readEscape(reader: Reader): string {
  const char = reader.pattern.charAt(reader.at);
  if (char === '') fail(reader, 'a backslash at the end');
  reader.at += 1;
  return char;
}

function readAlternatives(reader: Reader, depth: number): string {
  if (depth > GLOB_DEPTH_MAX) fail(reader, `"{" nested deeper than ${GLOB_DEPTH_MAX}`);
  const opened = reader.at;
  const alternatives: string[] = [];
  do {
    reader.at += 1;
    alternatives.push(readText(reader, depth));
  } while (reader.pattern.charAt(reader.at) === ',');
  if (reader.at >= reader.pattern.length) fail({ ...reader, at: opened }, 'a "{" without its "}"');
  reader.at += 1;
  return `(?:${alternatives.join('|')})`;
}

function readClass(reader: Reader): string {
  const opened = reader.at;
  reader.at += 1;
  const negated = /[!^]/.test(reader.pattern.charAt(reader.at));
  if (negated) reader.at += 1;
  // A "]" that comes first stands for itself.
  const end = reader.pattern.indexOf(']', reader.at + 1);
  if (end < 0) fail({ ...reader, at: opened }, 'a "[" without its "]"');
  const members = classMembers(reader, reader.pattern.slice(reader.at, end));
  reader.at = end + 1;
  return `[${negated ? '^' : ''}${members}]`;
}

function classMembers(reader: Reader, text: string): string {
  const chars = Array.from(text);
  let members = '';
  for (let at = 0; at < chars.length; at += 1) {
    const first = chars[at] ?? '';
    const last = chars[at + 1] === '-' ? chars[at + 2] : undefined;
    if (last === undefined) {
      members += escaped(first);
      continue;
    }
    if (codeOf(first) > codeOf(last)) {
      fail(reader, `the range "${first}-${last}", whose ends are swapped`);
    }
    members += `${escaped(first)}-${escaped(last)}`;
    at += 2;
  }
  return members;
}

const codeOf = (char: string): number => char.codePointAt(0) ?? 0;

/** Outside ASCII nothing is special, and there a backslash is a fault. */
const escaped = (char: string): string => (/^[!-/:-@[-^`{-~]$/.test(char) ? `\\${char}` : char);

function fail(reader: Reader, what: string): never {
  throw new GlobSyntaxError(`has ${what} at character ${reader.at + 1}`);
}
