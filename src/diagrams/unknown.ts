/** What text looks like that holds a part nobody can know from the definition alone. */
const HOLE = '…';

/**
 * Stands for a context or an event whose content is not known: whatever is read from it, called on
 * it or iterated over is unknown again. With it a chart's pure functions can be asked what of their
 * result does not depend on their arguments.
 */
// Every use of an unknown value is allowed, which is what `any`-like access means here.
export const UNKNOWN: never = new Proxy(() => undefined, {
  get: (_target, key) => {
    if (key === Symbol.iterator) return () => [UNKNOWN][Symbol.iterator]();
    if (key === Symbol.toPrimitive)
      return (hint: string) => (hint === 'number' ? Number.NaN : HOLE);
    return UNKNOWN;
  },
  apply: () => UNKNOWN,
  ownKeys: () => [],
  getOwnPropertyDescriptor: () => undefined,
} satisfies ProxyHandler<() => undefined>) as never;

/** Calls a pure function with unknown arguments; undefined when it needs to know them. */
export function askUnknowing<T>(fn: (...args: never[]) => T, ...args: unknown[]): T | undefined {
  try {
    return fn(...(args as never[]));
  } catch {
    return undefined;
  }
}

/** The words in a value that are known: texts, flags, and the `kind`, `code` or `type` of objects. */
export function knownWords(value: unknown): string[] {
  if (typeof value === 'string') return value.includes(HOLE) ? [] : [value];
  if (typeof value === 'boolean') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  const { kind, code, type } = value as Record<string, unknown>;
  const word = [kind, code, type].find((field) => typeof field === 'string');
  return word === undefined ? [] : knownWords(word);
}
