import { fitted } from './width.ts';
import { durationText } from './time.ts';

/** Columns of one value in a line; the whole is shown by `--json`. */
const VALUE_MAX = 200;

/** Reads the keys of an event for a line of text. What is not there, or of another type, is `?`. */
export class Fields {
  readonly #event: Readonly<Record<string, unknown>>;

  constructor(event: object) {
    this.#event = { ...event };
  }

  has(key: string): boolean {
    return this.#event[key] !== undefined && this.#event[key] !== null;
  }

  text(key: string): string {
    return shown(this.#event[key]);
  }

  ms(key: string): string {
    const value = this.#event[key];
    return typeof value === 'number' ? durationText(value) : '?';
  }

  /** The keys of an object under `key`. */
  in(key: string): Fields {
    const value = this.#event[key];
    return new Fields(typeof value === 'object' && value !== null ? value : {});
  }

  /** `key=value` for all keys but the type, for events that this version does not know. */
  all(): string {
    return Object.entries(this.#event)
      .filter(([key]) => key !== 'type')
      .map(([key, value]) => `${key}=${shown(value)}`)
      .join(' ');
  }
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '?';
  return fitted(typeof value === 'string' ? value : JSON.stringify(value), VALUE_MAX);
}
