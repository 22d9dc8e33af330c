import type { AnyMachineSnapshot } from 'xstate';
import type { RunContext } from '../../../machines/run.contract.ts';
import type { ToolCallContext } from '../../../machines/tool-call.contract.ts';
import type { ToolCallRequest } from '../../../machines/vocabulary.ts';
import type {
  ChildActs,
  CompositionInvariant,
  CompositionView,
  RunningChart,
} from '../../../src/testing/composition/contract.ts';

export const contextOf = ({ parent }: CompositionView): RunContext => parent.context;

/** The fact as it was told, with where it stands in the history. */
export const factsOf = ({ history }: CompositionView, type: string) =>
  history.flatMap((one, at) =>
    one.kind === 'told' && one.fact.type === type ? [{ at, path: one.path, fact: one.fact }] : [],
  );

export const sentOf = ({ history }: CompositionView, type: string) =>
  history.flatMap((one, at) =>
    one.kind === 'sent' && one.event.type === type ? [{ at, event: one.event }] : [],
  );

export const startsOf = ({ history }: CompositionView, src: string) =>
  history.flatMap((one, at) =>
    one.kind === 'started' && one.src === src ? [{ at, path: one.path }] : [],
  );

export const runningOf = ({ charts }: CompositionView, id: string): readonly RunningChart[] =>
  charts.filter((chart) => chart.id === id && chart.snapshot.status === 'active');

/** Sent at most so often in one history. */
export const atMost =
  <Fields extends object>(times: number, type: string, fields: Fields) =>
  (view: CompositionView): Fields | undefined =>
    sentOf(view, type).length < times ? fields : undefined;

/** What a run's key says, as far as compositions need it. */
export function keyOfRun(snapshot: AnyMachineSnapshot): unknown {
  const { turn, queued, open, standing, work, cause, parking, claimsDecided, ...rest } =
    snapshot.context as RunContext;
  const live = snapshot.matches('live') || snapshot.matches('idle');
  const stored = snapshot.matches('releasing') || snapshot.matches('ended');
  return [
    (live || work === 'model') && `turn ${turn}`,
    queued.length > 0 && `queued ${queued.map(({ id }) => id).join('+')}`,
    open.length > 0 && `open ${open.map(({ id }) => id).join('+')}`,
    ...Object.entries(standing).map(([id, how]) => `${id} ${how}`),
    work !== 'none' && work,
    cause?.kind,
    parking !== null && !stored && `parks for ${parking.kind}`,
    live && claimsDecided && 'claims decided',
    live && rest.callerOwes && 'caller owes',
    rest.parked && 'parked',
    rest.failure?.code,
    !rest.settled && 'not stored',
  ];
}

export const keyOfToolCall = (snapshot: AnyMachineSnapshot): unknown => {
  const { status, cause, notice, questions, withdrawals, closingAsked } =
    snapshot.context as ToolCallContext;
  return [
    status,
    cause?.kind,
    notice.asked && 'notice asked',
    notice.sent !== null && `notice ${notice.sent ? 'sent' : 'not sent'}`,
    ...questions.map(({ decisionId }) => `asks ${decisionId}`),
    ...withdrawals.map(({ decisionId, reason }) => `withdraws ${decisionId} ${reason}`),
    closingAsked && 'stop waits',
  ];
};

/** The turn's ends, each only in its turn, so that a run is over after two. */
export const turns = (first: readonly ToolCallRequest[]): ChildActs => ({
  turn: {
    'asks for tools': (_view, { input }) =>
      (input as { turn: number }).turn === 1
        ? { done: { kind: 'tools', calls: first } }
        : undefined,
    answered: (_view, { input }) =>
      (input as { turn: number }).turn === 1 && first.length > 0
        ? undefined
        : { done: { kind: 'answered' } },
  },
});

export const SETTLING: ChildActs = {
  prepareRun: { '': { done: undefined } },
  closeWork: { '': { done: undefined } },
  settleRun: { '': { done: undefined } },
  releaseRun: { '': { done: undefined } },
};

/** What holds of every run, whatever runs below it. */
export const OF_EVERY_RUN: readonly CompositionInvariant[] = [
  {
    name: 'A run settles at most once, and once if it has ended (R4).',
    violation: (view) => {
      const times = startsOf(view, 'settleRun').length;
      const ended = view.parent.status === 'done';
      return times > 1 || (ended && times !== 1) ? `it settled ${times} times` : undefined;
    },
  },
  {
    name: 'The cause that a run told is the one it settles with (R1).',
    violation: (view) => {
      const [stopping] = factsOf(view, 'run.stopping');
      const settle = view.fakes.find(({ src }) => src === 'settleRun');
      if (stopping === undefined || settle === undefined) return undefined;
      const { outcome } = settle.input as { outcome: { kind: string; cause?: { kind: string } } };
      const told = stopping.fact['cause'].kind as string;
      const kept = outcome.kind === 'failed' ? told : outcome.cause?.kind;
      return told === kept ? undefined : `it told ${told} and settled ${JSON.stringify(outcome)}`;
    },
  },
  {
    name: 'Nothing begins once a run settles (R2).',
    violation: (view) => {
      const settled = startsOf(view, 'settleRun')[0]?.at ?? Number.POSITIVE_INFINITY;
      const late = ['turn', 'toolCall', 'executeTool', 'prepareRun', 'claims', 'approval']
        .flatMap((src) => startsOf(view, src))
        .find(({ at }) => at > settled);
      return late && `${late.path} was started after it`;
    },
  },
];
