import type { EventObject, StateValue } from 'xstate';

const VARIANT = Symbol('variant');

/** Names which variant of a payload table an event is, where no chart looks for it. */
export function withVariant(event: EventObject, variant: string): EventObject {
  return Object.defineProperty(event, VARIANT, { value: variant, enumerable: false });
}

/**
 * An event as a reader wants it: XState's prefix left out, `after` with the name of its delay, and
 * the name of the payload's variant behind it.
 */
export function labelOfEvent(event: EventObject): string {
  const variant = (event as { [VARIANT]?: string })[VARIANT];
  const type = labelOfType(event.type);
  return variant ? `${type} (${variant})` : type;
}

/** The same for an event's type alone. */
export function labelOfType(type: string): string {
  if (type === '') return 'always';
  const after = /^xstate\.after\.([^.]+)\./.exec(type);
  if (after) return `after ${delayLabel(after[1] as string)}`;
  const state = /^xstate\.done\.state\.(.*)$/.exec(type);
  if (state) return `done state ${state[1]}`;
  const actor = /^xstate\.(done|error)\.actor\.(.*)$/.exec(type);
  if (actor) return `${actor[1]} ${actor[2]}`;
  return type.replace(/^xstate\./, '').replace(/^snapshot\./, 'snapshot ');
}

/**
 * A state on one line: `a.b` below each other, `{a.b, c.d}` beside each other, and what else tells
 * it apart behind a `#`. Of a list the parts that are null, false or empty are left out.
 */
export function labelOfState(value: StateValue, key?: unknown): string {
  const parts = (Array.isArray(key) ? key : [key]).filter((part) => !NOTHING.includes(part));
  const words = parts.map((part) =>
    typeof part === 'object' ? JSON.stringify(part) : String(part),
  );
  return words.length > 0 ? `${labelOfValue(value)}#${words.join(',')}` : labelOfValue(value);
}

const NOTHING: readonly unknown[] = [undefined, null, false, ''];

function labelOfValue(value: StateValue): string {
  if (typeof value === 'string') return value;
  const parts = Object.entries(value).map(([name, below]) => {
    const label = below === undefined ? '' : labelOfValue(below);
    return label === '' ? name : `${name}.${label}`;
  });
  return parts.length > 1 ? `{${parts.join(', ')}}` : (parts[0] ?? '');
}

/** A delay given as a number of milliseconds says its unit; a named one is its name. */
const delayLabel = (delay: string): string => (/^\d+$/.test(delay) ? `${delay} ms` : delay);
