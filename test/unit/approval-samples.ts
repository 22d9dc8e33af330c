import type { ApprovalOutcomeFields, JournalEvent } from '../../src/journal/events.ts';
import {
  cancelled,
  complete,
  finished,
  goingOn,
  of,
  parked,
  refused,
  requested,
  type RunStep,
  start,
  started,
} from './journal-samples.ts';

type One<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>;

/** When every sample expires, in epoch milliseconds. */
export const EXPIRES = 100;

const DIGEST = 'sha256:00';
const expires_at = new Date(EXPIRES).toISOString();

const GATED = { kind: 'config_gate', matched_pattern: '*' } as const;
export const QUESTION = { kind: 'elicitation', server: 's', message: 'm', schema: {} } as const;

export const ask = (change: Partial<One<'approval_requested'>> = {}): JournalEvent => ({
  type: 'approval_requested',
  decision_id: 'd',
  tool_name: 'n',
  origin: GATED,
  scope: { kind: 'single' },
  tool_call_id: 't',
  arguments_digest: DIGEST,
  route: 'conversational',
  expires_at,
  ...change,
});

export const pending = (change: Partial<One<'approval_pending'>> = {}): JournalEvent => ({
  type: 'approval_pending',
  decision_id: 'd',
  tool_name: 'n',
  arguments: {},
  origin: GATED,
  scope: { kind: 'single' },
  expires_at,
  tool_call_id: 't',
  arguments_digest: DIGEST,
  ...change,
});

export const reminder = (change: Partial<One<'approval_reminder'>> = {}): JournalEvent => ({
  type: 'approval_reminder',
  decision_id: 'd',
  tool_name: 'n',
  waited_ms: 10,
  expires_at,
  tool_call_id: 't',
  ...change,
});

const OUTCOMES: Readonly<Record<ApprovalOutcomeFields['kind'], ApprovalOutcomeFields>> = {
  approved: { kind: 'approved' },
  denied: { kind: 'denied' },
  timed_out: { kind: 'timed_out', waited_ms: EXPIRES },
  cancelled: { kind: 'cancelled', reason: 'external' },
  errored: { kind: 'errored', message: 'm' },
};

export const outcomeOf = (kind: ApprovalOutcomeFields['kind']): ApprovalOutcomeFields =>
  OUTCOMES[kind];

export const answer = (
  kind: ApprovalOutcomeFields['kind'],
  change: Partial<One<'approval_completed'>> = {},
): JournalEvent => ({
  type: 'approval_completed',
  decision_id: 'd',
  outcome: OUTCOMES[kind],
  duration_ms: 1,
  scope: { kind: 'single' },
  tool_call_id: 't',
  arguments_digest: DIGEST,
  ...change,
});

export const withdrawn = (change: Partial<One<'approval_withdrawn'>> = {}): JournalEvent => ({
  type: 'approval_withdrawn',
  decision_id: 'd',
  tool_call_id: 't',
  reason: 'timed_out',
  notified: true,
  ...change,
});

/** The start of a call that was approved. */
export const approvedStart = (digest = DIGEST, id = 't'): JournalEvent =>
  ({ ...start(id), arguments_digest: digest }) as JournalEvent;

const run = (name: string, ...events: JournalEvent[]): RunStep[] =>
  events.map((event) => of(name, event) as RunStep);

const EDITED = { arguments: { n: 1 }, arguments_digest: 'sha256:01' };
const AGAIN = { decision_id: 'd2' };
const BY_WEBHOOK = ask({ route: 'webhook' });
/** What a run that parks tells of a question to a webhook. */
const TAKEN_BACK = [BY_WEBHOOK, answer('cancelled'), withdrawn({ reason: 'external' })];
const OTHER = { decision_id: 'd2', tool_call_id: 't2' };

/** Sound journals, one for each way that an approval may go. */
export const STORIES = {
  approved: run(
    'a',
    ...[started, requested(), ask(), pending(), reminder(), reminder({ waited_ms: 20 })],
    ...[answer('approved', { decided_by: 'key:ops' }), approvedStart(), complete(), finished],
  ),
  edited: run(
    'a',
    ...[started, requested(), ask(), pending()],
    ...[answer('approved', { edited: EDITED }), approvedStart('sha256:01'), complete(), finished],
  ),
  denied: run(
    'a',
    ...[started, requested(), ask(), pending(), answer('denied', { decided_by: 'key:ops' })],
    ...[refused('denied'), finished],
  ),
  timedOut: run(
    'a',
    ...[started, requested(), ask(), pending(), answer('timed_out'), refused('timed_out')],
    finished,
  ),
  webhookApproved: run(
    'a',
    ...[started, requested(), ask({ route: 'webhook' }), reminder()],
    ...[answer('approved', { decided_by: 'webhook' }), approvedStart(), complete(), finished],
  ),
  webhookTimedOut: run(
    'a',
    ...[started, requested(), ask({ route: 'webhook' }), answer('timed_out'), withdrawn()],
    ...[refused('timed_out'), finished],
  ),
  webhookErrored: run(
    'a',
    ...[started, requested(), ask({ route: 'webhook' }), answer('errored')],
    ...[withdrawn({ notified: false }), complete(), finished],
  ),
  webhookCancelled: run(
    'a',
    ...[started, requested(), ask({ route: 'webhook' }), answer('cancelled')],
    ...[withdrawn({ reason: 'external' }), refused('cancelled'), cancelled('external')],
  ),
  granted: run(
    'a',
    ...[started, requested(), ask(), answer('approved', { grant: 'session' }), approvedStart()],
    ...[complete(), requested('t2'), ask({ ...OTHER, route: 'webhook' })],
    ...[answer('approved', { ...OTHER, granted_by: 'd' }), approvedStart('sha256:00', 't2')],
    ...[complete('t2'), finished],
  ),
  forbidden: run('a', started, requested(), forbiddenEnd(), finished),
  elicited: run(
    'a',
    ...[started, requested(), start(), ask({ origin: QUESTION }), pending({ origin: QUESTION })],
    ...[answer('approved', { content: { n: 1 } }), complete(), finished],
  ),
  elicitedInVain: run(
    'a',
    ...[started, requested(), start(), ask({ origin: QUESTION, route: 'webhook' })],
    ...[answer('cancelled'), withdrawn({ reason: 'call_over' }), complete(), finished],
  ),
  parked: [
    ...run('a', started, requested(), ask(), pending(), parked()),
    ...run('b', goingOn('started', 'a'), requested(), answer('approved'), approvedStart()),
    ...run('b', complete(), finished),
  ],
  parkedWebhook: [
    ...run('a', started, requested(), ...TAKEN_BACK, parked()),
    ...run('b', goingOn('started', 'a'), requested(), ask({ ...AGAIN, route: 'webhook' })),
    ...run('b', answer('approved', { ...AGAIN, decided_by: 'webhook' }), approvedStart()),
    ...run('b', complete(), finished),
  ],
  parkedAndGivenUp: run('a', started, requested(), ask(), pending(), parked()),
  parkedAndNeverBegun: [
    ...run('a', started, requested(), ask(), pending(), parked()),
    ...run('b', goingOn('queued', 'a'), cancelled('external')),
  ],
  askedAgain: [
    ...run('a', started, requested(), ask(), pending(), answer('approved'), parked('owner_lost')),
    ...run('b', goingOn('started', 'a'), requested(), ask(AGAIN), pending(AGAIN)),
    ...run('b', answer('approved', { ...AGAIN, edited: EDITED }), approvedStart('sha256:01')),
    ...run('b', complete(), finished),
  ],
  lostWithQuestion: [
    ...run('a', started, requested(), start(), ask({ origin: QUESTION, route: 'webhook' })),
    ...run('a', answer('cancelled'), withdrawn(), parked('owner_lost')),
    ...run('b', goingOn('started', 'a'), requested(), start(), complete(), finished),
  ],
} as const satisfies Readonly<Record<string, readonly RunStep[]>>;

export type StoryName = keyof typeof STORIES;

function forbiddenEnd(): JournalEvent {
  return { ...complete(), success: false, forbidden_by: 'rm_*' } as JournalEvent;
}
