/** A path found the server doing something else than it should. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
  readonly expected: string;
  readonly seen: string;

  constructor(expected: string, seen: string) {
    super(`expected ${expected}; seen: ${seen}`);
    this.expected = expected;
    this.seen = seen;
  }
}

/** A path that this server, as it is configured, cannot be asked to take. */
export class Skip extends Error {
  override readonly name = 'Skip';
}

/** Values of a report on one line, cut where they are long. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

const SHOWN_MAX = 600;

/** Both sides must be equal as JSON; `what` names them. */
export function expectSame(what: string, seen: unknown, expected: unknown): void {
  if (JSON.stringify(seen) === JSON.stringify(expected)) return;
  throw new Mismatch(`${what} ${shown(expected)}`, shown(seen));
}
