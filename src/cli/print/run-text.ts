import type { Run } from '../client/shapes.ts';
import { durationText } from './time.ts';

type End = NonNullable<Run['end']>;

/** Why a run ended, in a word or two; empty while it goes on, and when its work was done. */
export function endText({ end, continued_by }: Pick<Run, 'end' | 'continued_by'>): string {
  if (end === null) return '';
  const resumed = (continued_by ?? null) === null ? '' : 'resumed';
  return [causeText(end), resumed].filter((part) => part !== '').join(', ');
}

/** The code of the error, or the reason and which deadline; empty when the work was done. */
export function causeText({ reason, which, error }: End): string {
  if (error !== null && error !== undefined) return error.code;
  return [reason ?? '', which ?? ''].filter((word) => word !== '').join(' ');
}

/** What a run waits for: its approvals, then the deadline that comes first. */
export function waitingText({
  approvals,
  deadlines,
}: Pick<Run, 'approvals' | 'deadlines'>): string {
  const [first, ...others] = approvals;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const next = deadlines
    .filter(({ suspended }) => !suspended)
    .reduce<Run['deadlines'][number] | undefined>(
      (least, one) => (least === undefined || one.remaining_ms < least.remaining_ms ? one : least),
      undefined,
    );
  const parts = [
    ...(first === undefined ? [] : [`approval ${first}${more}`]),
    ...(next === undefined ? [] : [`${next.which} in ${durationText(next.remaining_ms)}`]),
  ];
  return parts.join(', ');
}

/** `continue, 10s of grace`. */
export const livenessText = ({ policy, grace_ms }: Run['liveness']): string =>
  grace_ms === 0 ? policy : `${policy}, ${durationText(grace_ms)} of grace`;

/** What a person types to do what may be done now. */
export function verbLines({ run_id, verbs }: Pick<Run, 'run_id' | 'verbs'>): [string, string][] {
  return verbs.map((verb) => [verb, `runwarden runs ${COMMANDS[verb] ?? verb} ${run_id}`]);
}

const COMMANDS: Readonly<Record<string, string>> = { attach: 'watch' };
