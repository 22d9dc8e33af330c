const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration by its two greatest units: `850ms`, `12s`, `14m 20s`, `3h 5m`, `2d 4h`. */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.trunc(ms));
  if (whole < SECOND) return `${whole}ms`;
  if (whole < MINUTE) return `${Math.trunc(whole / SECOND)}s`;
  if (whole < HOUR) return two(whole, [MINUTE, 'm'], [SECOND, 's']);
  return whole < DAY ? two(whole, [HOUR, 'h'], [MINUTE, 'm']) : two(whole, [DAY, 'd'], [HOUR, 'h']);
}

type Unit = readonly [ms: number, name: string];

function two(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.trunc((ms % large) / small);
  const first = `${Math.trunc(ms / large)}${largeName}`;
  return rest === 0 ? first : `${first} ${rest}${smallName}`;
}

/** How long ago, or how far ahead. */
export const fromNow = (at: number, now: number): string =>
  at > now ? `in ${durationText(at - now)}` : `${durationText(now - at)} ago`;

/** `2026-01-31 12:00:00Z`; what is no date is shown as the number it is. */
export function dateText(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

/** `12:00:00Z`. */
export const clockText = (at: number): string => dateText(at).split(' ').at(-1) ?? '';

/** A moment that may not have come: `2026-01-31 12:00:00Z (5m ago)`, or `-`. */
export const momentText = (at: number | null, now: number): string =>
  at === null ? '-' : `${dateText(at)} (${fromNow(at, now)})`;
