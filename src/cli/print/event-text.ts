import { decidedText } from './approval-text.ts';
import { Fields } from './fields.ts';

/**
 * What an event says beside its type, in one line and as it came from the server. Events of a type
 * that this version does not know show all their keys.
 */
export function eventText(event: { readonly type: string }): string {
  const fields = new Fields(event);
  return (
    (Object.hasOwn(TEXTS, event.type) ? TEXTS[event.type]?.(fields) : undefined) ?? fields.all()
  );
}

type Text = (fields: Fields) => string;

const usage = (f: Fields): string => `${f.text('total_tokens')} tokens`;
const ifThere = (f: Fields, key: string): string => (f.has(key) ? `, ${f.text(key)}` : '');
const policy = (f: Fields): string =>
  `agent ${f.text('agent')}, liveness ${f.in('liveness').text('policy')}`;
const observer = (f: Fields): string => f.in('observer').text('id');
const tool = (f: Fields): string => `${f.text('tool_name')} (${f.text('tool_id')})`;
const approval = (f: Fields): string => `${f.text('decision_id')} for ${f.text('tool_name')}`;

const TEXTS: Readonly<Record<string, Text>> = {
  queued: policy,
  started: (f) =>
    `${policy(f)}${f.has('continues') ? `, continues ${f.text('continues')}` : ''}: ${f.text('prompt')}`,
  observer_attached: (f) => `${observer(f)}${f.has('within_grace') ? ', within the grace' : ''}`,
  observer_detached: (f) => `${observer(f)}, ${f.text('because')}`,
  claims_exhausted: (f) => `${f.ms('grace_ms')} of grace`,
  liveness_decided: (f) => f.text('policy'),
  stopping: (f) =>
    `${f.text('cause')}${ifThere(f, 'which')}, ${f.text('obligations')} open obligations`,
  obligation: (f) =>
    `${f.text('what')} ${f.text('id')} ${f.text('state')} after ${f.ms('waited_ms')}`,
  finished: usage,
  cancelled: (f) =>
    `${f.text('reason')}${ifThere(f, 'which')}${ifThere(f, 'message')}; ${usage(f)}`,
  failed: (f) => `${f.in('error').text('code')}: ${f.in('error').text('message')}; ${usage(f)}`,
  parked: (f) => `${f.text('reason')}; ${usage(f)}`,
  gap: (f) => `entries ${f.text('from')} to ${f.text('to')} are not kept any more`,
  text_delta: (f) => JSON.stringify(f.text('text')),
  reasoning: (f) => f.text('content'),
  tool_requested: (f) => `${tool(f)} ${f.text('arguments')}`,
  tool_start: tool,
  tool_progress: (f) =>
    `${f.text('tool_id')}${f.has('percent') ? ` ${f.text('percent')}%` : ''} ${f.text('message')}`,
  tool_complete: toolComplete,
  usage,
  approval_requested: approval,
  approval_pending: (f) =>
    `${approval(f)} until ${f.text('expires_at')}, arguments ${f.text('arguments')}`,
  approval_reminder: (f) =>
    `${approval(f)} waits for ${f.ms('waited_ms')}, until ${f.text('expires_at')}`,
  approval_completed: approvalCompleted,
  approval_withdrawn: (f) =>
    `${f.text('decision_id')}: ${f.text('reason')}; the webhook was ${f.text('notified') === 'true' ? '' : 'not '}told`,
};

function toolComplete(f: Fields): string {
  const what = ['approval', 'error', 'result'].find((key) => f.has(key));
  const said = what === undefined ? '' : `: ${f.text(what)}`;
  return `${tool(f)} ${f.text('success') === 'true' ? 'done' : 'failed'} in ${f.ms('duration_ms')}${said}`;
}

/** The entry names the call and not its tool. */
function approvalCompleted(f: Fields): string {
  const outcome = f.in('outcome');
  const state = outcome.text('kind');
  const call = `${f.text('decision_id')} for ${f.text('tool_call_id')}: ${state}`;
  // Nobody was asked about that one.
  if (f.has('granted_by')) return `${call} as ${f.text('granted_by')} was`;
  const words = (key: string, from = f) => (from.has(key) ? from.text(key) : undefined);
  const told = decidedText({
    state,
    decided_by: words('decided_by'),
    reason: words('reason', outcome) ?? words('message', outcome),
    grant: words('grant'),
    edited: words('arguments', f.in('edited')),
  });
  return `${call}${told}${ifThere(outcome, 'which')}`;
}
