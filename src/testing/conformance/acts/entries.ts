import type { Envelope, JournalEvent } from '../../../journal/events.ts';
import { TERMINAL_TYPES } from '../../../journal/events.ts';
import type { EventReader } from './api.ts';

/** What a stream of entries has brought so far; a gap is none. */
export const entriesOf = ({ frames }: EventReader): readonly Envelope[] =>
  frames.map(({ data }) => JSON.parse(data) as Envelope).filter(({ seq }) => seq !== undefined);

export const isTerminal = ({ payload }: Envelope): boolean =>
  TERMINAL_TYPES.has(payload.event.type);

/** An entry in the words of the scenarios: its type, with what tells two of a kind apart. */
export function wordOf(event: JournalEvent): string {
  switch (event.type) {
    case 'observer_attached':
      return event.within_grace === true ? `${event.type}(within grace)` : event.type;
    case 'observer_detached':
      return `${event.type}(${event.because})`;
    case 'liveness_decided':
      return `${event.type}(${event.policy})`;
    case 'approval_completed':
      return `${event.type}(${event.outcome.kind})`;
    case 'tool_complete':
      return `${event.type}(${event.approval ?? (event.success ? 'success' : 'failure')})`;
    case 'failed':
      return `${event.type}(${event.error.code})`;
    case 'parked':
      return `${event.type}(${event.reason})`;
    case 'cancelled':
      return `${event.type}(${event.which === undefined ? event.reason : `${event.reason} ${event.which}`})`;
    default:
      return event.type;
  }
}

/** One line of a report. */
export function lineOf({ seq, payload }: Envelope): string {
  const { type, ...rest } = payload.event;
  const fields = Object.entries(rest)
    .filter(([name]) => SHOWN.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [`#${seq}`, type, ...fields].join(' ');
}

const SHOWN: ReadonlySet<string> = new Set([
  'reason',
  'cause',
  'which',
  'policy',
  'because',
  'within_grace',
  'outcome',
  'success',
  'approval',
  'tool_id',
  'tool_name',
  'decision_id',
  'what',
  'id',
  'state',
  'error',
  'text',
]);
