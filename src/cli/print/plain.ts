/**
 * Characters of a server's text that would do something to a terminal: control characters, line and
 * paragraph ends, halves of characters, and format characters that turn or hide text. What joins
 * letters and emoji (U+200C, U+200D) is text.
 */
const UNSAFE = /(?![\u200c\u200d])[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Cf}]/gu;
const UNSAFE_IN_PROSE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Cf}]/gu;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Text from outside as one line that a terminal only shows: what it would obey is spelled out. */
export const plain = (text: string): string => text.replace(UNSAFE, spelledOut);

/** The same for text of several lines. */
export const plainProse = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(UNSAFE_IN_PROSE, spelledOut);

function spelledOut(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

/**
 * JSON text that means the same and that a terminal only shows. Inside valid JSON such characters
 * stand in strings alone, where an escape is the same character.
 */
export const plainJson = (json: string): string => json.replace(UNSAFE_IN_PROSE, escapedUnits);

/** A return outside a string is white space, and so is the space it becomes. */
function escapedUnits(character: string): string {
  if (character === '\r') return ' ';
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}
