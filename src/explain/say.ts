/** Names in one sentence; the rest is counted. */
const NAMES_MAX = 4;

/** A duration for a person: `350 ms`, `2.4 s`, `45 s`, `1 min 30 s`, `2 h 5 min`. */
export function duration(exactMs: number): string {
  const ms = Math.max(0, Math.round(exactMs));
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return pair(seconds, { unit: 60, big: 'min', small: 's' });
  return pair(Math.round(seconds / 60), { unit: 60, big: 'h', small: 'min' });
}

function pair(
  value: number,
  { unit, big, small }: { unit: number; big: string; small: string },
): string {
  const rest = value % unit;
  const whole = `${Math.floor(value / unit)} ${big}`;
  return rest === 0 ? whole : `${whole} ${rest} ${small}`;
}

/** `a`, `a and b`, `a, b and 3 more`. */
export function list(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX);
  const more = names.length - shown.length;
  const words = more > 0 ? [...shown, `${more} more`] : shown;
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`;
}

/** `1 tool call`, `3 tool calls`. */
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** Text from outside, on one line and never too long. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return `“${line.length > TEXT_MAX ? `${line.slice(0, TEXT_MAX - 1)}…` : line}”`;
}

const TEXT_MAX = 200;

/** A sentence from a message that may have its full stop or not. */
export const clause = (message: string): string => message.trim().replace(/[.\s]+$/, '');

/** A moment for a person: `2027-01-15 08:00:00Z`. */
export const moment = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`;

/** A deadline as a person would write it: `first-chunk`. */
export const deadlineName = (which: string): string => which.replace('_', '-');
