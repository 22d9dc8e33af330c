import type { ExplainedStep } from '../handle.ts';
import { approvalSteps, takenBackSteps } from './approvals.ts';
import { unclaimedOf, unclaimedSteps } from './claims.ts';
import type { LiveApproval, LiveChart, LiveRun } from './facts.ts';
import { parkingSteps } from './parked.ts';
import { retrySteps } from './cancelled.ts';
import { clause, count, deadlineName, duration, list, quoted } from './say.ts';
import { entryStep, obligationStep, timerStep } from './steps.ts';
import { capital, nameOf, stoppingSteps } from './stopping.ts';
import type { Story } from './story.ts';
import { beginningSteps, resumedSteps, toolsSteps } from './work.ts';

/** Why a run still lives: what it does or waits for now, and what would end that. */
export function livingChain(story: Story): ExplainedStep[] {
  const { record } = story.facts;
  const work = WORK[record.state]?.(story) ?? beginningSteps(story);
  const steps = [...work, ...readersSteps(story), ...parkingNow(story), ...deadlineSteps(story)];
  // What comes at the same time keeps its order, and what is still to come is last.
  return steps.sort((a, b) => a.at - b.at);
}

const WORK: Readonly<Record<string, (story: Story) => ExplainedStep[]>> = {
  queued: queuedSteps,
  preparing: preparingSteps,
  running: runningSteps,
  waiting: waitingSteps,
  stopping: stoppingNow,
};

/** That nobody reads it is only worth a word while the run goes on all the same. */
function readersSteps(story: Story): ExplainedStep[] {
  if (story.facts.record.state === 'stopping') return [];
  const unclaimed = unclaimedOf(story);
  if (unclaimed === undefined) return [];
  const steps = unclaimedSteps(story, unclaimed);
  const { exhausted, decided } = unclaimed;
  const graceMs = exhausted.event.grace_ms;
  if (decided !== undefined || graceMs === 0) return steps;
  const at = exhausted.at + graceMs;
  const { policy } = story.facts.record.liveness;
  const left = duration(at - story.facts.now);
  const text = `The grace window ends in ${left}; then the policy ${policy} is applied`;
  return [...steps, timerStep(at, text, { timer: 'grace', ms: graceMs })];
}

function queuedSteps(story: Story): ExplainedStep[] {
  const { record, now, live } = story.facts;
  const queued = story.first('queued');
  const at = queued?.at ?? record.created_at;
  const ahead = live?.ahead;
  const behind =
    ahead === undefined || ahead === null
      ? 'a run of its session'
      : `the run ${ahead.runId}, which is ${ahead.state}`;
  const text =
    `The run has waited ${duration(now - at)} for ${behind}; ` +
    'one run of a session is at work at a time';
  return queued === undefined
    ? [timerStep(at, text, { waits_for: ahead?.runId ?? null })]
    : [entryStep(queued, text, { waits_for: ahead?.runId ?? null })];
}

function preparingSteps(story: Story): ExplainedStep[] {
  const { now, live, record } = story.facts;
  const servers = live?.connecting ?? [];
  const what = servers.length > 0 ? `its MCP servers (${list(servers)})` : 'its tools';
  const began = story.first('started')?.at ?? record.created_at;
  const text = `The run has been connecting ${what} for ${duration(now - began)}`;
  return [
    ...beginningSteps(story),
    obligationStep(began, text, { what: 'mcp', id: 'setup', servers }),
  ];
}

function runningSteps(story: Story): ExplainedStep[] {
  const { live, now } = story.facts;
  const calls = live?.calls ?? [];
  const last = story.last('tool_complete')?.event.tool_id;
  const told = new Set([...calls.map(({ id }) => id), ...(last === undefined ? [] : [last])]);
  const decided = approvalSteps(story, { calls: told });
  const before = [...resumedSteps(story), ...decided, ...toolsSteps(story)];
  const first = before.length > 0 ? before : beginningSteps(story);
  if (calls.length > 0) return [...first, ...calls.slice(0, 4).map((call) => callStep(call, now))];
  const turn = live?.charts.find(({ chart }) => chart === 'turn');
  return turn === undefined ? first : [...first, ...retrySteps(story), modelStep(story, turn)];
}

function callStep(call: LiveRun['calls'][number], now: number): ExplainedStep {
  const { id, name, state, since, deadlineAt, overdue } = call;
  const does = overdue ? OVERDUE : DOES[state];
  const limit = deadlineAt === null ? '' : limitText(deadlineAt - now);
  const text = `The tool ${name} (${id}) ${does} ${duration(now - since)}${limit}`;
  const detail = { what: 'tool', id, name, state, deadline_at: deadlineAt };
  return obligationStep(since, text, detail);
}

/** What a tool's own deadline does, which is less than what those of the run do. */
const limitText = (leftMs: number): string =>
  `; its own deadline ends the call in ${duration(leftMs)}, and the run goes on`;

const DOES: Readonly<Record<LiveRun['calls'][number]['state'], string>> = {
  waiting: 'waits for a place among those that run side by side, for',
  person: 'waits for a person, for',
  running: 'has been running for',
  asking: 'asks a person while it runs, and has waited for',
  closing: 'is over, and the webhook that was asked has been told of that for',
  stopping: 'was told to stop and has not ended for',
};

const OVERDUE = 'ran into its own deadline and has been stopping for';

function modelStep(story: Story, { states }: LiveChart): ExplainedStep {
  const { now, record } = story.facts;
  const state = states.join(', ');
  const step = story.lastStep(({ chart }) => chart === 'turn');
  const since = step?.at ?? record.started_at ?? record.created_at;
  const text = `${MODEL[state] ?? 'The model has been at work'} for ${duration(now - since)}`;
  return obligationStep(since, text, { what: 'model', state });
}

const MODEL: Readonly<Record<string, string>> = {
  'calling.connecting': 'The model was asked and has sent nothing',
  'calling.streaming': 'The model has been streaming its answer',
  backingOff: 'The last model request failed, and the next try has been waited for',
};

function waitingSteps(story: Story): ExplainedStep[] {
  const { now, live, record } = story.facts;
  const steps = (live?.approvals ?? []).slice(0, 4).map((approval) => askingStep(story, approval));
  if (steps.length > 0) return [...resumedSteps(story), ...steps];
  const ids = list(record.approvals);
  const text = ids === '' ? 'A person was asked to approve a tool' : `A person must decide ${ids}`;
  return [obligationStep(now, text, { what: 'approval', ids: record.approvals })];
}

function askingStep(story: Story, approval: LiveApproval): ExplainedStep {
  const { decisionId, requestedAt, expiresAt, route, retry } = approval;
  const { now } = story.facts;
  const left = duration(expiresAt - now);
  const limit =
    retry === null
      ? `without an answer it times out in ${left}`
      : `if it cannot be asked within ${left}, the approval fails`;
  const text = `${waitingText(approval, now)}${remindedText(story, decisionId)}; ${limit}`;
  return obligationStep(requestedAt, text, {
    what: 'approval',
    id: decisionId,
    route,
    expires_at: expiresAt,
    ...(retry !== null && { failures: retry.failures }),
  });
}

function waitingText(approval: LiveApproval, now: number): string {
  const { toolName, decisionId, route, question, requestedAt, retry } = approval;
  const ago = `asked ${duration(now - requestedAt)} ago`;
  const what =
    question === null
      ? `approve the tool ${toolName}`
      : `answer the server ${question.server} for its tool ${toolName}, which asks ${quoted(question.message)}`;
  if (route === 'conversational') return `A person must ${what} (approval ${decisionId}), ${ago}`;
  if (retry === null) return `A webhook must ${what} (approval ${decisionId}), ${ago}`;
  const tries = retry.failures === 1 ? 'once' : `${retry.failures} times`;
  return (
    `A webhook must ${what} (approval ${decisionId}); asking it failed ${tries} ` +
    `(${clause(retry.because)}), and it is asked again`
  );
}

function remindedText(story: Story, decisionId: string): string {
  const told = story
    .all('approval_reminder')
    .filter(({ event }) => event.decision_id === decisionId);
  return told.length === 0 ? '' : `, with ${count(told.length, 'reminder')} since`;
}

function stoppingNow(story: Story): ExplainedStep[] {
  const { live, now } = story.facts;
  const open = (live?.obligations ?? []).map(({ what, id, askedAt }) => {
    const name = capital(nameOf(what, id));
    const since = duration(now - askedAt);
    const text = `${name} was asked to stop ${since} ago and has not confirmed it`;
    return obligationStep(askedAt, text, { what, id, state: 'asked' });
  });
  const unclaimed =
    story.last('stopping')?.event.cause === 'unclaimed' ? unclaimedOf(story) : undefined;
  const told = stoppingSteps(story);
  const steps = [
    ...(unclaimed === undefined ? [] : unclaimedSteps(story, unclaimed)),
    ...told,
    ...takenBackSteps(story),
    ...open,
  ];
  if (open.length > 0) return steps;
  return [...steps, timerStep(now, 'Nothing is open any more: its end is being stored', {})];
}

function parkingNow(story: Story): ExplainedStep[] {
  const { live, record } = story.facts;
  const isParking = live?.charts.some(
    ({ chart, tags }) => chart === 'run' && tags.includes('parking'),
  );
  if (isParking !== true || record.state === 'stopping') return [];
  const asked = parkingSteps(story);
  const ms = live?.parkBoundMs ?? null;
  const first = asked[0];
  if (ms === null || first === undefined) return asked;
  const left = duration(first.at + ms - story.facts.now);
  const text = `If it comes to no checkpoint within ${left}, it is cancelled`;
  return [...asked, timerStep(first.at + ms, text, { timer: 'park', ms })];
}

/** The deadline that comes first, if one runs: it bounds all of the above. */
function deadlineSteps(story: Story): ExplainedStep[] {
  const { record, now } = story.facts;
  const [next] = [...record.deadlines]
    .filter(({ at }) => at !== null)
    .sort((a, b) => a.remaining_ms - b.remaining_ms);
  if (next === undefined) return [];
  const at = next.at ?? now;
  const left = duration(at - now);
  const unless = DEADLINES[next.which] ?? 'If it has not ended';
  const text = `${unless} in ${left}, its ${deadlineName(next.which)} deadline cancels the run`;
  return [timerStep(at, text, { timer: next.which, remaining_ms: at - now })];
}

/** What each deadline waits for. */
const DEADLINES: Readonly<Record<string, string>> = {
  setup: 'If its tools are not connected',
  first_chunk: 'If the model has sent nothing',
  inactivity: 'If the model has sent nothing more',
  step: 'If this model turn and its tools have not ended',
};
