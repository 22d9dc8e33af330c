import type { Approval } from '../client/shapes.ts';
import { clockText, durationText } from './time.ts';
import { fitted } from './width.ts';

/** Columns; more of the arguments is shown by `--json` and by `show`. */
const ARGUMENTS_MAX = 200;

/** The arguments of the call, or of a question its words. */
export const argumentsText = (approval: Approval): string =>
  fitted(questionOf(approval) ?? jsonText(approval.arguments), ARGUMENTS_MAX);

/** JSON on one line. */
export const jsonText = (value: unknown): string => JSON.stringify(value) ?? '';

/** Who decided, or `-` where that is not known. */
export const deciderText = ({ decided_by }: Pick<Decided, 'decided_by'>): string =>
  given(decided_by) ?? '-';

/** With what words it was decided, or `-`. */
export const reasonText = ({ reason }: Pick<Decided, 'reason'>): string => given(reason) ?? '-';

/** What is told of a decision; unset keys may be null. */
export interface Decided {
  readonly state: string;
  readonly decided_by?: string | null | undefined;
  readonly reason?: string | null | undefined;
  /** The like of it is approved for the rest of the session. */
  readonly grant?: string | null | undefined;
  /** The arguments in the place of those that were asked for, as text. */
  readonly edited?: string | undefined;
}

/**
 * How it was decided, as it follows the state in a line: ` by ann, reason: Fine.`. Somebody approves and
 * denies, so that says `by -` where it is not known; of the other ends nobody has to be the cause.
 */
export function decidedText({ state, decided_by, reason, grant, edited }: Decided): string {
  const isDecided = state === 'approved' || state === 'denied' || given(decided_by) !== undefined;
  const by = isDecided ? ` by ${deciderText({ decided_by })}` : '';
  const why = given(reason) === undefined ? '' : `, reason: ${reasonText({ reason })}`;
  const wide = given(grant) === undefined ? '' : ', for the session';
  return `${by}${why}${wide}${edited === undefined ? '' : `, arguments now ${edited}`}`;
}

const given = (text: string | null | undefined): string | undefined =>
  text === null || text === '' ? undefined : text;

/** Why a person is asked. */
export function originText({ origin }: Approval): string {
  const said = (key: string): string => {
    const value = origin[key];
    return typeof value === 'string' ? value : '?';
  };
  switch (origin.kind) {
    case 'config_gate':
      return `the configuration holds back ${said('matched_pattern')}`;
    case 'agent_requested':
      return `the agent ${said('agent_name')} asks: ${said('reason')}`;
    case 'elicitation':
      return `the server ${said('server')} asks: ${said('message')}`;
    default:
      return jsonText(origin);
  }
}

/** An approval in a line of a feed, as it came from the server. */
export function approvalLine(approval: Approval, now: number): string {
  const { decision_id, state, tool_name, agent, run_id, parked } = approval;
  const where = `${agent}, run ${run_id}${parked ? ' (parked)' : ''}`;
  const head = `${clockText(now)} ${decision_id} ${state.padEnd(STATE_COLUMNS)} ${tool_name}`;
  if (state !== 'pending') {
    const { edited } = approval;
    const now = edited ? { edited: fitted(jsonText(edited.arguments), ARGUMENTS_MAX) } : {};
    const { decided_by, reason, grant } = approval;
    return `${head} (${where})${decidedText({ state, decided_by, reason, grant, ...now })}`;
  }
  const { requested_at, expires_at, route } = approval;
  const waits = `waits ${durationText(now - requested_at)}, ${durationText(expires_at - now)} left`;
  return `${head} ${argumentsText(approval)} (${where}, ${route}, ${waits})`;
}

/** As many as `timed_out` and `cancelled` have. */
const STATE_COLUMNS = 9;

function questionOf({ origin }: Approval): string | undefined {
  const message = origin.kind === 'elicitation' ? origin['message'] : undefined;
  return typeof message === 'string' ? message : undefined;
}
