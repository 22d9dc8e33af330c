import type {
  CallStanding,
  RunContext,
  RunEmitted,
  RunInput,
  ToolSnapshot,
} from './run.contract.ts';
import type { TurnOutput } from './turn.machine.ts';
import type {
  Failure,
  ObligationRef,
  RunLimits,
  RunOutcome,
  StopCause,
  ToolCallRequest,
} from './vocabulary.ts';

export const CRASHED: Failure = {
  code: 'internal_error',
  message: 'A part of the run crashed.',
  retryable: false,
};

export const TURN_LIMIT: Failure = {
  code: 'turn_limit',
  message: 'The agent reached its limit of model turns.',
  retryable: false,
};

export function outcomeOf(context: RunContext): RunOutcome {
  if (context.failure !== null) return { kind: 'failed', failure: context.failure };
  if (context.parked) return { kind: 'parked', cause: causeOf(context) };
  if (context.cause === null) return { kind: 'finished' };
  if (context.cause.kind === 'error') return { kind: 'failed', failure: context.cause.failure };
  return { kind: 'cancelled', cause: context.cause };
}

/** A reader or a deadline cut this run off: what it used may still carry its last request. */
export function mustEvict({ cause }: RunContext): boolean {
  return cause?.kind === 'unclaimed' || cause?.kind === 'deadline';
}

/** The step's clock includes an allowance that compaction may use up (INV-27). */
export function stepMs(limits: RunLimits): number {
  return limits.stepMs === 0 ? 0 : limits.stepMs + limits.stepAllowanceMs;
}

export function obligationsOf(context: RunContext): number {
  const notices = context.open.filter(({ executor, id }) => {
    const standing = context.standing[id];
    return executor === 'mcp' && standing !== 'gated' && standing !== 'closing';
  }).length;
  return context.open.length + notices + (context.work === 'none' ? 0 : 1);
}

export function workRef(context: RunContext): ObligationRef {
  return context.work === 'setup'
    ? { what: 'mcp', id: 'setup' }
    : { what: 'model', id: `turn-${context.turn}` };
}

/** Some call waits for a person. */
export const hasWaiting = ({ standing }: RunContext): boolean =>
  Object.values(standing).some((how) => how !== 'closing');

/** Only what has not begun can go on in another process. */
export const areGated = ({ open, standing }: RunContext): boolean =>
  open.every(({ id }) => standing[id] === 'gated');

export function standingAfter(
  standing: RunContext['standing'],
  { snapshot }: ToolSnapshot,
): RunContext['standing'] {
  const how = standingOf(snapshot);
  const { id } = snapshot.context.call;
  return how === undefined ? without(standing, id) : { ...standing, [id]: how };
}

function standingOf(snapshot: ToolSnapshot['snapshot']): CallStanding | undefined {
  if (snapshot.hasTag('gated')) return 'gated';
  if (snapshot.hasTag('input-required')) return 'asking';
  return snapshot.hasTag('closing') ? 'closing' : undefined;
}

export const without = (standing: RunContext['standing'], gone: string): RunContext['standing'] =>
  Object.fromEntries(Object.entries(standing).filter(([id]) => id !== gone));

export function endedUnrun(
  call: ToolCallRequest,
  status: 'cancelled' | 'failed',
  cause: StopCause | null,
): Extract<RunEmitted, { type: 'toolCall.ended' }> {
  const { id, name } = call;
  return { type: 'toolCall.ended', id, name, status, approval: null, cause, abandoned: false };
}

export const causeOf = (context: RunContext): StopCause =>
  context.cause ?? context.parking ?? { kind: 'error', failure: CRASHED };

export const callsOf = (output: TurnOutput): readonly ToolCallRequest[] =>
  output.kind === 'tools' ? output.calls : [];

export const failureOf = (output: TurnOutput): Failure =>
  output.kind === 'failed' ? output.failure : CRASHED;

export const expiryOf = (output: TurnOutput): StopCause =>
  output.kind === 'expired'
    ? { kind: 'deadline', which: output.which, afterMs: output.afterMs }
    : { kind: 'error', failure: CRASHED };

/** Ports reject with a `Failure`; anything else is a bug and is told as one. */
export function toFailure(error: unknown): Failure {
  if (typeof error === 'object' && error !== null && 'code' in error && 'retryable' in error) {
    return error as Failure;
  }
  return CRASHED;
}

/** Entering the first step counts a turn; a run that resumes inside a step is in that turn. */
export function turnBefore({ resume }: RunInput): number {
  if (resume === undefined) return 0;
  return resume.calls.length > 0 ? resume.turn - 1 : resume.turn;
}
