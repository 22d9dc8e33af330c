import type { Reader } from './values.ts';

/** One thing that can be set for the whole process, and every place where it can be set. */
export interface Setting<T> {
  readonly read: Reader<T>;
  /** Long name without the dashes. */
  readonly flag?: string;
  /** One letter. */
  readonly short?: string;
  /** Variables, the strongest first. */
  readonly env: readonly string[];
  /** Path below `[runtime]`. */
  readonly toml?: readonly string[];
  /** For the help text: what the value looks like, `[…]` when it may be left out. */
  readonly takes?: string;
  readonly help: string;
  /** What counts when nobody says anything, as one would write it; undefined: nothing. */
  readonly fallback: string | number | boolean | readonly string[] | undefined;
}
