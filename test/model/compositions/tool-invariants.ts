import type { RunContext } from '../../../machines/run.contract.ts';
import type { ToolCallContext } from '../../../machines/tool-call.contract.ts';
import type { ApprovalRequest } from '../../../machines/vocabulary.ts';
import type {
  CompositionInvariant,
  CompositionView,
  RunningChart,
} from '../../../src/testing/composition/contract.ts';
import { contextOf, factsOf, OF_EVERY_RUN, runningOf, sentOf, startsOf } from './run-samples.ts';

const callOf = ({ snapshot }: RunningChart) => (snapshot.context as ToolCallContext).call;
const requestOf = ({ snapshot }: RunningChart) => snapshot.context.request as ApprovalRequest;

const tools = (view: CompositionView) => view.charts.filter(({ id }) => id === 'toolCall');
const approvals = (view: CompositionView) => view.charts.filter(({ id }) => id === 'approval');

const isActing = ({ parent }: CompositionView): boolean =>
  parent.status === 'active' && parent._nodes.some(({ key }) => key === 'acting');

/** How a run should see a call, by the call's own tags. */
function standingOf({ snapshot }: RunningChart): string {
  if (snapshot.hasTag('gated')) return 'gated';
  if (snapshot.hasTag('input-required')) return 'asking';
  return snapshot.hasTag('closing') ? 'closing' : 'running';
}

const inWords = (standing: readonly (readonly [string, string])[]): string =>
  standing
    .map(([id, how]) => `${id} ${how}`)
    .sort()
    .join(', ');

const wasParked = (view: CompositionView): boolean => contextOf(view).parked;

/** A run and its tool calls, whose approvals run for real too. */
export const OF_TOOL_CALLS: readonly CompositionInvariant[] = [
  ...OF_EVERY_RUN,
  {
    name: 'A run at its tools knows how each of them stands.',
    violation: (view) => {
      if (!isActing(view)) return undefined;
      const { open, standing } = contextOf(view);
      const known = inWords(open.map(({ id }) => [id, standing[id] ?? 'running']));
      const real = inWords(
        runningOf(view, 'toolCall').map((chart) => [callOf(chart).id, standingOf(chart)]),
      );
      return known === real ? undefined : `it knows "${known}" and they are "${real}"`;
    },
  },
  {
    name: 'The calls that a run holds open are the ones that run.',
    violation: (view) => {
      const idsOf = (calls: RunContext['open']) => calls.map(({ id }) => id).join('+');
      const [held, real] = [
        idsOf(contextOf(view).open),
        idsOf(runningOf(view, 'toolCall').map(callOf)),
      ];
      return held === real ? undefined : `it holds "${held}" and there run "${real}"`;
    },
  },
  {
    name: 'No tool is executed twice, without its approval, against a rule or once its run stops.',
    violation: (view) => {
      const stopped = factsOf(view, 'run.stopping')[0]?.at ?? Number.POSITIVE_INFINITY;
      for (const chart of tools(view)) {
        const starts = startsOf(view, 'executeTool').filter(
          ({ path }) => path === `${chart.path}/executeTool`,
        );
        const [first] = starts;
        if (first === undefined) continue;
        const { approval, forbiddenBy } = callOf(chart);
        const approved = factsOf(view, 'approval.completed').some(
          ({ at, fact }) =>
            at < first.at &&
            fact['outcome'].kind === 'approved' &&
            fact['request'].decisionId === approval?.decisionId,
        );
        if (starts.length > 1) return `${chart.path} was executed twice`;
        if (approval !== undefined && !approved) return `${chart.path} was not approved`;
        if (forbiddenBy !== undefined) return `${chart.path} is forbidden`;
        if (first.at > stopped) return `${chart.path} was executed after the stop`;
      }
      return undefined;
    },
  },
  {
    name: 'Each call tells its end once, when it ends, and only a run that parked drops one.',
    violation: (view) => {
      for (const { path, snapshot } of tools(view)) {
        const told = factsOf(view, 'toolCall.ended').filter((one) => one.path === path).length;
        if (told !== (snapshot.status === 'done' ? 1 : 0)) return `${path} told ${told} ends`;
        if (snapshot.status === 'stopped' && !wasParked(view)) return `${path} was dropped`;
      }
      return undefined;
    },
  },
  {
    name: 'Each approval that ends completes once, and only a run that parked drops one.',
    violation: (view) => {
      for (const chart of approvals(view)) {
        const { decisionId } = requestOf(chart);
        const told = factsOf(view, 'approval.completed').filter(
          ({ fact }) => fact['request'].decisionId === decisionId,
        ).length;
        const { status } = chart.snapshot;
        if (told !== (status === 'done' ? 1 : 0)) return `${chart.path} completed ${told} times`;
        if (status === 'stopped' && !wasParked(view)) return `${chart.path} was dropped`;
      }
      return undefined;
    },
  },
  {
    name: 'The first decision on a question that is open ends that question, as it was decided.',
    violation: (view) => {
      for (const chart of approvals(view)) {
        const { decisionId, route } = requestOf(chart);
        const started = startsOf(view, 'approval').find(({ path }) => path === chart.path);
        const [decided] = sentOf(view, 'approval.decide').filter(
          ({ at, event }) =>
            at > (started?.at ?? 0) &&
            event['decisionId'] === decisionId &&
            `tool.${event['toolCallId']}` === chart.path.split('/')[0] &&
            (route === 'conversational' || event['signed'] === true),
        );
        const [completed] = factsOf(view, 'approval.completed').filter(
          ({ fact }) => fact['request'].decisionId === decisionId,
        );
        if (decided === undefined || (completed?.at ?? decided.at) < decided.at) continue;
        const should = decided.event['approved'] ? 'approved' : 'denied';
        const is = completed?.fact['outcome'].kind ?? 'open';
        if (is !== should) return `${chart.path} was ${should} and is ${is}`;
      }
      return undefined;
    },
  },
  {
    name: 'Nobody is asked any more once the run stops, or the question is taken back (TC6, TC7).',
    violation: (view) => {
      const open = runningOf(view, 'approval');
      const [first] = open;
      if (first === undefined) return undefined;
      if (factsOf(view, 'run.stopping').length > 0) return `${first.path} is open`;
      const retracted = new Set(
        sentOf(view, 'toolCall.retract')
          .filter(({ at }) => at > (sentOf(view, 'toolCall.ask')[0]?.at ?? at))
          .map(({ event }) => event['decisionId'] as string),
      );
      const left = open.find((chart) => retracted.has(requestOf(chart).decisionId));
      return left && `${left.path} is open`;
    },
  },
  {
    name: 'No question ends as approved or denied unless somebody said so.',
    violation: (view) => {
      for (const { at, fact } of factsOf(view, 'approval.completed')) {
        const { decided, grantedBy, decisionId, route } = fact['request'] as ApprovalRequest;
        if (!['approved', 'denied'].includes(fact['outcome'].kind)) continue;
        if (decided !== undefined || grantedBy !== undefined || route === 'webhook') continue;
        const said = sentOf(view, 'approval.decide').some(
          (one) => one.at < at && one.event['decisionId'] === decisionId,
        );
        if (!said) return `nobody decided ${decisionId}`;
      }
      return undefined;
    },
  },
  {
    name: "The step's clock stands still while a person is asked, and else it goes (R6).",
    violation: (view) => {
      const step = view.fakes.find(({ id, state }) => id === 'step' && state === 'running');
      if (step === undefined || !isActing(view)) return undefined;
      const stands = step.received.at(-1)?.type === 'deadline.pause';
      const asked = runningOf(view, 'toolCall').some(({ snapshot }) =>
        snapshot.hasTag('input-required'),
      );
      return stands === asked ? undefined : `asked: ${asked}, stands still: ${stands}`;
    },
  },
  {
    name: 'A call knows which of its questions are open.',
    violation: (view) => {
      for (const { path, snapshot } of runningOf(view, 'toolCall')) {
        const { questions } = snapshot.context as ToolCallContext;
        const known = questions.map(({ decisionId }) => `${path}/question.${decisionId}`).join();
        const open = runningOf(view, 'approval')
          .filter((chart) => chart.path.startsWith(`${path}/question.`))
          .map((chart) => chart.path)
          .join();
        if (known !== open) return `it knows "${known}" and open are "${open}"`;
      }
      return undefined;
    },
  },
  {
    name: 'A run that has ended asked for each obligation once, as many as it said, and had an answer to each.',
    violation: (view) => {
      const [stopping] = factsOf(view, 'run.stopping');
      if (view.parent.status !== 'done') return undefined;
      const idsIn = (type: string) =>
        factsOf(view, type).map(
          ({ fact }) => `${fact['obligation'].what} ${fact['obligation'].id}`,
        );
      const asked = idsIn('obligation.asked').sort();
      const answered = [...idsIn('obligation.confirmed'), ...idsIn('obligation.abandoned')].sort();
      const said = (stopping?.fact['obligations'] as number | undefined) ?? 0;
      if (asked.join() !== answered.join())
        return `asked "${asked.join()}", had "${answered.join()}"`;
      if (new Set(asked).size !== asked.length) return `it asked twice: ${asked.join()}`;
      return said === asked.length ? undefined : `it said ${said} and asked ${asked.join()}`;
    },
  },
  {
    name: 'A run that parks leaves nothing but calls that wait at their gate, or none.',
    violation: (view) => {
      if (!wasParked(view)) return undefined;
      const dropped = tools(view).filter(({ snapshot }) => snapshot.status === 'stopped');
      const begun = dropped.find(({ path }) =>
        startsOf(view, 'executeTool').some((one) => one.path === `${path}/executeTool`),
      );
      return begun && `${begun.path} had begun`;
    },
  },
];
