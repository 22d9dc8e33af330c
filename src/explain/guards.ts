import type { ExplainedStep, Explanation } from '../handle.ts';
import type { LiveChart, LiveRun } from './facts.ts';
import { finalBecause } from './retries.ts';
import { count, duration, list } from './say.ts';
import { nameOf } from './stopping.ts';
import type { Story } from './story.ts';

type Blocked = Explanation['blocked_by'][number];

/** Guards that said no in a step of the chain, where their no shut a way. */
export function refusedIn(story: Story, chain: readonly ExplainedStep[]): readonly Blocked[] {
  const found = new Map<string, Blocked>();
  for (const { detail } of chain) {
    if (!isRefusal(detail)) continue;
    const { chart, event, refused, from } = detail;
    for (const guard of refused) {
      const name = `${chart}.${guard}`;
      if (IDLE.has(name)) continue;
      const known = name === 'turn.mayRetry' ? finalBecause(story) : SAID_NO[name];
      const because = known ?? `it said no at ${from ?? 'the start'}`;
      found.set(name, { chart, guard, event, because });
    }
  }
  return [...found.values()];
}

interface Refusal {
  readonly chart: string;
  readonly event: string;
  readonly from: string | null;
  readonly refused: readonly string[];
}

/** Links that stand for a step of a chart have what it refused in their detail. */
const isRefusal = (detail: unknown): detail is Refusal =>
  typeof detail === 'object' && detail !== null && 'refused' in detail;

/**
 * Guards whose no holds nothing up: they tell ways apart, of which one is always open, or the way
 * that they shut is one that the run had no need of.
 */
const IDLE: ReadonlySet<string> = new Set([
  'approval.hasExpired',
  'approval.isBackingOff',
  'approval.isGranted',
  'approval.isLate',
  'approval.isNo',
  'approval.isWebhook',
  'approval.isYes',
  'approval.wasApproved',
  'approval.wasDenied',
  'claims.hasFirst',
  'run.areCallsDone',
  'run.callerMustAnswer',
  'run.hasResumedCalls',
  'run.hasWaiting',
  'run.heedsClaims',
  'run.isAnswered',
  'run.isExpired',
  'run.isFailed',
  'run.isNobodyAsked',
  'run.isQuiet',
  'run.isTool',
  'run.isUnclaimed',
  'run.mustPark',
  'run.mustParkBeforeCalls',
  'run.parksInstead',
  'toolCall.isError',
  'toolCall.isForbidden',
  'toolCall.isGated',
  'toolCall.isOfQuestion',
]);

/** What a guard's no means where it refused a way that a reader might have expected. */
const SAID_NO: Readonly<Record<string, string>> = {
  'turn.mayRetry': 'the model request may not be tried again',
  'turn.hasCalls': 'the model asked for no tool',
  'run.hasTurnsLeft': 'the agent had taken all the model turns that it may take',
  'run.isOpen': 'no open call waits for that decision',
  'claims.hasGrace': 'the run has no grace window',
  'claims.mayGoOn': 'the policy is not to continue',
  'claims.isHeld': 'that reader holds no claim',
  'claims.isLast': 'another reader still held the run',
  'claims.isNew': 'that reader held a claim already',
  'toolCall.mayRun': 'nobody had approved the call, or the run was stopping',
  'toolCall.isFirstStop': 'the call was stopping already',
  'toolCall.isNew': 'that question had been asked already',
  'toolCall.isQuestion': 'whoever executes the call asks nothing under that id',
  'approval.isApproved': 'the decision was not to approve, or was not one that this approval takes',
  'approval.mayDecide':
    'the decision was about another approval, or lacked the signature of the webhook that is asked',
  'approval.mayRetry': 'the webhook failed in a way that another try does not mend',
};

/** Guards that say no now, each with what it waits for. */
export function blockedNow(live: LiveRun, now: number): readonly Blocked[] {
  const blocked = live.charts.flatMap((chart) => blockedChart(chart, live, now));
  const { ahead } = live;
  if (ahead === null) return blocked;
  const because = `the run ${ahead.runId} (${ahead.state}) is at work in the session`;
  return [{ chart: 'session', guard: 'hasTurn', event: null, because }, ...blocked];
}

function blockedChart({ chart, refusing, tags }: LiveChart, live: LiveRun, now: number): Blocked[] {
  return refusing.flatMap((guard) => {
    const wait = WAITS[`${chart}.${guard}`];
    const because = wait?.(live, now, tags);
    return because === undefined ? [] : [{ chart, guard, event: null, because }];
  });
}

/** Every guard that something is known of, as `chart.guard`. */
export const knownGuards = (): ReadonlySet<string> =>
  new Set([...IDLE, ...Object.keys(SAID_NO), ...Object.keys(WAITS)]);

type Wait = (live: LiveRun, now: number, tags: readonly string[]) => string | undefined;

/** What each guard waits for; one whose no holds nothing up is not here, or gives nothing. */
const WAITS: Readonly<Record<string, Wait>> = {
  'run.areCallsDone': ({ calls }, now) => callsText(calls, now),
  'run.isNobodyAsked': ({ approvals }, now) => {
    const [first] = approvals;
    if (first === undefined) return undefined;
    const who = approvals.every(({ route }) => route === 'webhook') ? 'a webhook' : 'a person';
    return `${who} must ${decideText(approvals)} (${first.toolName}), asked ${duration(now - first.requestedAt)} ago`;
  },
  'toolCall.isNobodyAsked': ({ approvals }) => {
    const questions = approvals.filter(({ question }) => question !== null);
    return questions.length === 0
      ? undefined
      : `whoever executes the call waits for somebody to ${decideText(questions)}`;
  },
  'toolCall.isQuiet': () => 'a webhook that was asked is being told that nobody waits any more',
  'run.isQuiet': ({ obligations }, now) => {
    if (obligations.length === 0) return 'something that was asked to stop has not confirmed it';
    const waits = obligations.map(
      ({ what, id, askedAt }) => `${nameOf(what, id)} for ${duration(now - askedAt)}`,
    );
    return `asked to stop and not confirmed: ${list(waits)}`;
  },
  'run.mustPark': (live, now, tags) => {
    if (!tags.includes('parking')) return undefined;
    const calls = callsText(
      live.calls.filter(({ state }) => state !== 'person'),
      now,
    );
    const rule = 'it parks only when nobody but a person holds it up';
    return calls === undefined ? rule : `${rule}: ${calls}`;
  },
};

function decideText(approvals: LiveRun['approvals']): string {
  const ids = approvals.map(({ decisionId }) => decisionId);
  return `decide ${ids.length === 1 ? 'approval' : 'the approvals'} ${list(ids)}`;
}

function callsText(calls: LiveRun['calls'], now: number): string | undefined {
  if (calls.length === 0) return undefined;
  const texts = calls.map(
    ({ id, name, state, since }) =>
      `${id} (${name}) ${CALL_STATES[state]} ${duration(now - since)}`,
  );
  return `${count(calls.length, 'tool call')} open: ${list(texts)}`;
}

const CALL_STATES: Readonly<Record<LiveRun['calls'][number]['state'], string>> = {
  waiting: 'has waited for a place for',
  person: 'has waited for a person for',
  running: 'has been running for',
  asking: 'has asked a person for',
  closing: 'is over and has been telling the webhook that was asked for',
  stopping: 'was told to stop and has not ended for',
};
