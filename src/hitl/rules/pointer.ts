/** A text that is no JSON pointer. The message says what is wrong, as the end of a sentence. */
export class PointerSyntaxError extends Error {
  override readonly name = 'PointerSyntaxError';
}

/** What a pointer leads to; undefined: nothing is there. A null of the document is in the box. */
export type Found = { readonly value: unknown } | undefined;

export type Pointer = (document: unknown) => Found;

/**
 * Compiles a JSON pointer (RFC 6901): "" is the whole document, "/a/0" the first item of the list
 * "a", and "~1" and "~0" stand for "/" and "~" in a name. Only what the document itself holds is
 * found, nothing that its objects inherit, and no length of a list or text.
 *
 * Throws {@link PointerSyntaxError}.
 */
export function compilePointer(text: string): Pointer {
  const names = parsePointer(text);
  return (document) => names.reduce<Found>(step, { value: document });
}

function parsePointer(text: string): readonly string[] {
  if (text === '') return [];
  if (!text.startsWith('/')) throw new PointerSyntaxError('does not begin with "/"');
  if (/~(?![01])/.test(text))
    throw new PointerSyntaxError('has a "~" that is neither "~0" nor "~1"');
  return text.slice(1).split('/').map(unescaped);
}

/** In one pass: "~01" is "~1" and not "/". */
const unescaped = (name: string): string =>
  name.replace(/~[01]/g, (escape) => (escape === '~1' ? '/' : '~'));

/** "-" is the place behind the last item, where nothing is; "01" is no index. */
const INDEX = /^(?:0|[1-9]\d*)$/;

function step(found: Found, name: string): Found {
  const value = found?.value;
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value) && !INDEX.test(name)) return undefined;
  // A list's items are its own keys too. Any JSON object may be read by its names.
  return Object.hasOwn(value, name)
    ? { value: (value as Readonly<Record<string, unknown>>)[name] }
    : undefined;
}
