import {
  type Check,
  type Placed,
  perRun,
  type RunView,
  type Violation,
} from './invariants-view.ts';

type ToolEvent = ReturnType<typeof toolEvents>[number];

interface CallView {
  readonly toolId: string;
  readonly events: readonly ToolEvent[];
}

/**
 * INV-37, INV-38: no tool call stays open in a run that has ended, however it ended. One that is
 * parked leaves them to the run that goes on with it (INV-39), which asks for each again.
 */
export const toolCallsClosed: Check = perRun((run) => {
  if (run.terminal === undefined || run.terminal.event.type === 'parked') return [];
  return callsOf(run).flatMap(({ toolId, events }) => {
    const requested = events.find(({ event }) => event.type === 'tool_requested');
    const complete = events.some(({ event }) => event.type === 'tool_complete');
    if (requested === undefined || complete || isClients(requested)) return [];
    return [run.violation('INV-37', requested.seq, `tool call ${toolId} is never completed`)];
  });
});

/**
 * JN-06: a call is requested, started, completed, each at most once and in this order; it tells of
 * progress only in between. One that is denied or stopped early is completed without a start.
 */
export const toolCallsInOrder: Check = perRun((run) =>
  callsOf(run).flatMap(({ toolId, events }) => orderOf(run, toolId, events)),
);

type Phase = 'unknown' | 'requested' | 'started' | 'completed';

/** From which phases an event may come, and where it leads. */
const STEPS: Readonly<Record<ToolEvent['event']['type'], { from: readonly Phase[]; to?: Phase }>> =
  {
    tool_requested: { from: ['unknown'], to: 'requested' },
    tool_start: { from: ['requested'], to: 'started' },
    tool_progress: { from: ['started'] },
    tool_complete: { from: ['requested', 'started'], to: 'completed' },
  };

function orderOf(run: RunView, toolId: string, events: readonly ToolEvent[]): Violation[] {
  let phase: Phase = 'unknown';
  return events.flatMap(({ seq, event }) => {
    const { from, to = phase } = STEPS[event.type];
    const message = `${event.type} of call ${toolId}, which is ${phase}`;
    const wrong = from.includes(phase) ? [] : [run.violation('JN-06', seq, message)];
    phase = to;
    return wrong;
  });
}

function callsOf(run: RunView): CallView[] {
  const calls = new Map<string, ToolEvent[]>();
  for (const placed of toolEvents(run)) {
    const events = calls.get(placed.event.tool_id) ?? [];
    calls.set(placed.event.tool_id, events);
    events.push(placed);
  }
  return [...calls].map(([toolId, events]) => ({ toolId, events }));
}

const toolEvents = (run: RunView) =>
  run.of('tool_requested', 'tool_start', 'tool_progress', 'tool_complete');

const isClients = ({ event }: Placed): boolean =>
  event.type === 'tool_requested' && event.client === true;
