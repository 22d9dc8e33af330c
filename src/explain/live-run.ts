import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import type { ApprovalContext } from '../../machines/approval.machine.ts';
import type { RunContext } from '../../machines/run.contract.ts';
import type { RunScope } from '../ports/run-scope.ts';
import type { TransitionStep } from '../transitions/transition-log.ts';
import { pathsOf, short, stateText } from '../transitions/words.ts';
import { OWN_DEADLINE } from './calls.ts';
import type { LiveApproval, LiveCall, LiveChart, LiveRun } from './facts.ts';
import { refusingNow } from './refusing.ts';

/** What neither the run's scope nor its chart knows. */
export interface Surroundings {
  /** The run at work in the session, while this one waits for it. */
  readonly ahead?: LiveRun['ahead'];
  /** MCP servers that are not connected yet. */
  readonly connecting?: readonly string[];
}

/**
 * What a live run does and waits for now. It only reads: guards are asked, nothing is sent.
 */
export function describeLive(
  scope: RunScope,
  run: AnyActorRef,
  { ahead = null, connecting = [] }: Surroundings = {},
): LiveRun {
  const charts = chartsOf(run, 'run');
  return {
    charts,
    calls: callsOf(scope, charts),
    approvals: approvalsOf(scope, run),
    obligations: [...scope.obligations]
      .filter(([, { state }]) => state === 'asked')
      .map(([key, { askedAt }]) => ({ ...refOf(key), askedAt })),
    connecting,
    ahead,
    parkBoundMs: parkBoundOf(run),
  };
}

/** The charts of a run, its own first and children below their parents. */
export function chartsOf(actor: AnyActorRef, path: string): LiveChart[] {
  const snapshot: unknown = actor.getSnapshot();
  if (!isChart(snapshot) || snapshot.status !== 'active') return [];
  const own: LiveChart = {
    chart: snapshot.machine.id,
    actor: path,
    states: pathsOf(stateText(snapshot.value)),
    tags: [...snapshot.tags],
    refusing: refusingNow(snapshot),
  };
  const children: Readonly<Record<string, AnyActorRef | undefined>> = snapshot.children;
  const below = Object.entries(children).flatMap(([id, child]) =>
    child === undefined ? [] : chartsOf(child, path === 'run' ? id : `${path}/${id}`),
  );
  return [own, ...below];
}

const isChart = (snapshot: unknown): snapshot is AnyMachineSnapshot =>
  typeof snapshot === 'object' && snapshot !== null && 'machine' in snapshot;

function callsOf(scope: RunScope, charts: readonly LiveChart[]): readonly LiveCall[] {
  const states = new Map(charts.map(({ actor, states: [state] }) => [actor, state]));
  const { steps } = scope.transitions.history;
  return [...scope.calls.values()]
    .filter(({ client, ended }) => !client && !ended)
    .map(({ call: { id, name }, requestedAt }) => {
      const state = states.get(`tool.${id}`) ?? '';
      const came = steps.findLast(({ actor, to }) => actor === short(`tool.${id}`) && to === state);
      return {
        id,
        name,
        requestedAt,
        state: CALL_STATES[state] ?? 'waiting',
        since: came?.at ?? requestedAt,
        deadlineAt: isWorking(state) ? deadlineOf(scope, name, came) : null,
        overdue: state === 'stopping' && came?.event === OWN_DEADLINE,
      };
    });
}

/** The tool's clock runs while nobody is asked on its behalf, and begins anew after that. */
const isWorking = (state: string): boolean => CALL_STATES[state] === 'running';

/** Not known where the beginning of the call has left the log. */
function deadlineOf(
  { agent }: RunScope,
  toolName: string,
  begun: TransitionStep | undefined,
): number | null {
  const ms = agent.toolTimeoutMs(toolName);
  return ms === 0 || begun === undefined ? null : begun.at + ms;
}

const CALL_STATES: Readonly<Record<string, LiveCall['state']>> = {
  gated: 'person',
  'running.working': 'running',
  'running.asking': 'asking',
  stopping: 'stopping',
  closing: 'closing',
};

function approvalsOf(scope: RunScope, run: AnyActorRef): readonly LiveApproval[] {
  const retries = retriesOf(run);
  return [...scope.approvals.values()]
    .filter(({ request, outcome }) => outcome === undefined && request.decided === undefined)
    .map(({ request, requestedAt }) => {
      const { decisionId, toolName, route, origin, timeoutMs } = request;
      return {
        decisionId,
        toolName,
        route,
        question: origin.kind === 'elicitation' ? origin : null,
        requestedAt,
        expiresAt: requestedAt + timeoutMs,
        retry: retries.get(decisionId) ?? null,
      };
    });
}

/** By decision id, the approvals whose webhook could not be asked and is to be asked again. */
function retriesOf(actor: AnyActorRef): ReadonlyMap<string, NonNullable<LiveApproval['retry']>> {
  const snapshot: unknown = actor.getSnapshot();
  if (!isChart(snapshot)) return new Map();
  if (snapshot.machine.id === 'approval') {
    // The chart of that name has this context.
    const { request, failures, failure } = snapshot.context as ApprovalContext;
    return new Map(failure === null ? [] : [[request.decisionId, { failures, because: failure }]]);
  }
  const children: Readonly<Record<string, AnyActorRef | undefined>> = snapshot.children;
  return new Map(
    Object.values(children).flatMap((child) => (child === undefined ? [] : [...retriesOf(child)])),
  );
}

function refOf(key: string): { what: string; id: string } {
  const colon = key.indexOf(':');
  return { what: key.slice(0, colon), id: key.slice(colon + 1) };
}

/** The bound counts from the step in which the run was asked to park. */
function parkBoundOf(run: AnyActorRef): number | null {
  const snapshot: unknown = run.getSnapshot();
  if (!isChart(snapshot) || !snapshot.hasTag('parking')) return null;
  // The chart whose context this is has just been asked for a tag that only it has.
  return (snapshot.context as RunContext).parkMs;
}
