import type { StateValue } from 'xstate';

/** The longest name that is kept: a provider's ids of tool calls may be of any length. */
const WORDS_MAX = 96;

/** A state value on one line: `a.b` below each other, `{a.b, c}` beside each other. */
export function stateText(value: StateValue): string {
  if (typeof value === 'string') return value;
  const parts: string[] = [];
  for (const name in value) {
    const below = value[name];
    const text = below === undefined ? '' : stateText(below);
    parts.push(text === '' ? name : `${name}.${text}`);
  }
  return parts.length > 1 ? `{${parts.join(', ')}}` : (parts[0] ?? '');
}

/** The dotted paths of the states that the text of a state value names. */
export function pathsOf(text: string): readonly string[] {
  if (!text.includes('{')) return [text];
  const open = text.indexOf('{');
  const prefix = text.slice(0, open);
  return partsOf(text.slice(open + 1, text.lastIndexOf('}')))
    .flatMap(pathsOf)
    .map((path) => `${prefix}${path}`);
}

/** Splits at the commas that stand in no inner braces. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '{') depth += 1;
    else if (sign === '}') depth -= 1;
    else if (sign === ',' && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return [...parts, text.slice(start).trim()];
}

/** The type of an event as a reader wants it: what XState says of actors and timers is in words. */
export function eventWords(type: string): string {
  if (!type.startsWith('xstate.')) return short(type);
  if (type === 'xstate.init') return 'it was started';
  if (type === 'xstate.stop') return 'it was stopped';
  const after = /^xstate\.after\.([^.]+)\./.exec(type);
  if (after) return short(`after ${delayWords(after[1] as string)}`);
  const actor = /^xstate\.(done|error|snapshot)(?:\.(?:actor|state))?\.(.*)$/.exec(type);
  if (actor) return `${short(actor[2] as string)} ${CAME[actor[1] as keyof typeof CAME]}`;
  return short(type.slice('xstate.'.length));
}

const CAME = { done: 'ended', error: 'failed', snapshot: 'changed' } as const;

const delayWords = (delay: string): string => (/^\d+$/.test(delay) ? `${delay} ms` : delay);

/** Cuts a name that is too long to be kept. */
export const short = (text: string): string =>
  text.length > WORDS_MAX ? `${text.slice(0, WORDS_MAX - 1)}…` : text;
