import type { RunLimits } from '../../../machines/vocabulary.ts';
import { superviseWith } from '../../create-supervisor.ts';
import type { StartRun, SupervisorHandle } from '../../handle.ts';
import { createLog } from '../../log.ts';
import { createScriptedProvider } from '../../providers/scripted.ts';
import { createMemoryStore } from '../../stores/memory.ts';
import type { AgentDefinition } from '../../supervisor-options.ts';
import type { Tool } from '../../tool.ts';
import { createCountingIds } from '../ids.ts';
import { readJournal } from '../read-journal.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';
import { HeardRun } from './heard-run.ts';

const SESSION = 'reenacted';

const START_MS = 1_800_000_000_000;

/** What was decided at the end of the journal is done by then. */
const AFTERWARDS_MS = 20_000;

/** Longer than anything that a journal bounds; none is this long without saying so. */
const NEVER_MS = 2_000_000_000;

/**
 * Has a run of a journal happen again in a supervisor of its own: its model, tools and people do what the
 * journal says they did, when it says so. Answers what was decided about its life this time.
 */
export async function reenact(heard: HeardRun): Promise<readonly string[]> {
  const clock = createVirtualClock(START_MS);
  const supervisor = superviseWith(
    {
      agents: [agentOf(heard, clock)],
      store: readable(),
      clock,
      ids: createCountingIds(),
      log: createLog({ level: 'silent' }),
      graceMs: 0,
    },
    { random: () => 0 },
  );
  const [{ runId }] = await Promise.all([supervisor.start(commandOf(heard)), clock.settle()]);
  const until = (at: number): Promise<void> =>
    clock.advance(Math.max(0, at - clock.now() + START_MS));
  for (const deed of deedsOf(heard)) {
    await until(deed.at);
    await deed.perform(supervisor, runId);
    await clock.settle();
  }
  await until(heard.terminal?.at ?? 0);
  await clock.advance(AFTERWARDS_MS);
  return new HeardRun(runId, await readJournal(supervisor, SESSION)).decisions;
}

/** It can still be read when a shutdown has closed it. */
function readable() {
  return Object.assign(createMemoryStore(), { close: () => {} });
}

function commandOf(heard: HeardRun): StartRun {
  const { liveness } = heard.first('started')?.event ?? {};
  const [claim] = heard.all('observer_attached').filter(({ at }) => at === 0);
  const clientTools = heard.all('tool_requested').filter(({ event }) => event.client === true);
  const names = new Set(clientTools.map(({ event }) => event.tool_name));
  return {
    agent: 'reenacted',
    sessionId: SESSION,
    messages: [{ role: 'user', content: 'Again.' }],
    prompt: 'Again.',
    streaming: true,
    liveness: { policy: liveness?.policy ?? 'continue', graceMs: liveness?.grace_ms ?? 0 },
    onBusy: 'parallel',
    requestHeaders: {},
    clientTools: [...names].map((name) => ({ name, parameters: { type: 'object' } })),
    ...(claim !== undefined && { claim: { observerId: claim.event.observer.id } }),
  };
}

function agentOf(heard: HeardRun, clock: VirtualClock): AgentDefinition {
  const asked = heard.all('approval_requested');
  const gated = asked.filter(({ event }) => event.origin.kind !== 'elicitation');
  const expires = asked[0]?.event.expires_at;
  const waits =
    expires === undefined ? 0 : Date.parse(expires) - heard.startedAt - (asked[0]?.at ?? 0);
  return {
    id: 'reenacted',
    model: createScriptedProvider({ clock, script: heard.turns }),
    toolSource: {
      acquire: async ({ signal }) => {
        await passed(clock, heard.first('session_info')?.at ?? NEVER_MS, signal);
        return { tools: toolsOf(heard, clock), servers: [], release: () => Promise.resolve() };
      },
    },
    ...(asked.some(({ event }) => event.route === 'webhook') && {
      approvalChannel: channelOf(heard, clock),
    }),
    requireApproval: [...new Set(gated.map(({ event }) => event.tool_name))],
    toolTimeoutMs: NEVER_MS,
    limits: { ...limitsOf(heard), parallelToolsMax: heard.callsAtOnce },
    ...(waits > 0 && { approvalTimeoutMs: waits }),
  };
}

/** Only the bound that ended it is known. */
function limitsOf(heard: HeardRun): Partial<RunLimits> {
  const parked = heard.first('liveness_decided')?.at ?? 0;
  const parkMs = Math.max(1, (heard.first('stopping')?.at ?? NEVER_MS) - parked);
  const none = {
    firstChunkMs: 0,
    inactivityMs: 0,
    stepMs: 0,
    totalMs: 0,
    setupMs: NEVER_MS,
    parkMs,
  };
  const end = heard.terminal?.event;
  if (end?.type !== 'cancelled' || end.which === undefined) return none;
  const afterMs = end.after_ms ?? end.end.after_ms;
  return { ...none, stepAllowanceMs: 0, [LIMITS[end.which]]: Math.max(1, afterMs) };
}

const LIMITS = {
  total: 'totalMs',
  setup: 'setupMs',
  first_chunk: 'firstChunkMs',
  inactivity: 'inactivityMs',
  step: 'stepMs',
} as const;

function toolsOf(heard: HeardRun, clock: VirtualClock): readonly Tool[] {
  const ours = heard.all('tool_requested').filter(({ event }) => event.client !== true);
  return [...new Set(ours.map(({ event }) => event.tool_name))].map((name) => ({
    spec: { name, parameters: { type: 'object' } },
    execute: async (_args, context) => {
      const { toolCallId: id, signal } = context;
      context.started({});
      const start = heard.all('tool_start').find(({ event }) => event.tool_id === id)?.at ?? 0;
      const begun = clock.now() - start;
      const until = (at: number) => passed(clock, at + begun - clock.now(), signal);
      for (const { at, event } of heard.all('approval_requested')) {
        if (event.tool_call_id !== id || event.origin.kind !== 'elicitation') continue;
        await until(at);
        await context.elicit?.(event.origin);
      }
      const end = heard.all('tool_complete').find(({ event }) => event.tool_id === id);
      await until(end?.at ?? NEVER_MS);
      const { success = true, result, error } = end?.event ?? {};
      return { text: result ?? error ?? '', isError: !success };
    },
  }));
}

/** A webhook answers as it did, question by question in their order. */
function channelOf(
  heard: HeardRun,
  clock: VirtualClock,
): NonNullable<AgentDefinition['approvalChannel']> {
  const asked = heard.all('approval_requested').filter(({ event }) => event.route === 'webhook');
  const known = new Map<string, number>();
  return {
    async ask({ decisionId }, { signal }) {
      const place = known.get(decisionId) ?? known.size;
      known.set(decisionId, place);
      const { decision_id: id, expires_at: expires = '' } = asked[place]?.event ?? {};
      const end = heard.all('approval_completed').find(({ event }) => event.decision_id === id);
      const kind = end?.event.outcome.kind;
      // What could not be asked until the time was over was asked again and again.
      const isLate = heard.startedAt + (end?.at ?? 0) >= Date.parse(expires);
      const failed = { kind: 'failed', message: 'It failed.', retryable: isLate } as const;
      if (kind === 'errored' && isLate) return failed;
      const isAnswered = kind === 'approved' || kind === 'denied' || kind === 'errored';
      await passed(
        clock,
        isAnswered ? (end?.at ?? 0) - (clock.now() - START_MS) : NEVER_MS,
        signal,
      );
      if (kind === 'errored') return failed;
      return { kind: 'decided', decision: { approved: kind === 'approved' }, toolHeaders: {} };
    },
    withdraw: () => Promise.resolve(true),
  };
}

async function passed(clock: VirtualClock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const over = Promise.withResolvers<void>();
  const timer = clock.setTimeout(over.resolve, Math.max(0, ms));
  const stop = (): void => over.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await over.promise;
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', stop);
  }
}

interface Deed {
  readonly at: number;
  /** The entry that tells of it: what happened at the same moment keeps its order. */
  readonly place: number;
  perform(supervisor: SupervisorHandle, runId: string): void | Promise<unknown>;
}

/** What came from outside, in the order in which it came. */
function deedsOf(heard: HeardRun): readonly Deed[] {
  return [...claimDeeds(heard), ...decisionDeeds(heard), ...endDeeds(heard)].toSorted(
    (one, other) => one.at - other.at || one.place - other.place,
  );
}

function claimDeeds(heard: HeardRun): readonly Deed[] {
  const [, ...later] = heard.all('observer_attached');
  const first = heard.all('observer_attached')[0];
  const attached = first === undefined || first.at === 0 ? later : [first, ...later];
  return [
    ...attached.map(
      ({ at, place, event }): Deed => ({
        at,
        place,
        perform: (supervisor, runId) => void supervisor.claim(runId, event.observer.id),
      }),
    ),
    ...heard.all('observer_detached').map(
      ({ at, place, event }): Deed => ({
        at,
        place,
        perform: (supervisor, runId) => supervisor.release(runId, event.observer.id, event.because),
      }),
    ),
  ];
}

function decisionDeeds(heard: HeardRun): readonly Deed[] {
  return heard.all('approval_completed').flatMap(({ at, place, event }): Deed[] => {
    const { outcome, tool_call_id: callId } = event;
    if (outcome.kind !== 'approved' && outcome.kind !== 'denied') return [];
    const perform = async (supervisor: SupervisorHandle): Promise<void> => {
      const { data } = await supervisor.listApprovals({ limit: 100, state: 'pending' });
      const item = data.find(({ tool_call_id: id }) => id === callId);
      if (item === undefined) return;
      void supervisor.decide(item.decision_id, { approved: outcome.kind === 'approved' });
    };
    return [{ at, place, perform }];
  });
}

function endDeeds(heard: HeardRun): readonly Deed[] {
  const { at = 0, place = 0, event } = heard.terminal ?? {};
  const from = heard.first('stopping')?.at ?? at;
  const reason = event !== undefined && 'reason' in event ? event.reason : undefined;
  if (reason === 'shutdown') {
    // A run that would park is cancelled when there is no time for it.
    const isHurried =
      event?.type === 'cancelled' && heard.first('started')?.event.liveness.policy === 'park';
    const perform = (supervisor: SupervisorHandle): void => {
      supervisor.shutdown('SIGTERM');
      if (isHurried) supervisor.shutdown('SIGTERM');
    };
    return [{ at: from, place, perform }];
  }
  if (reason !== 'external') return [];
  const verb = event?.type === 'parked' ? 'park' : 'cancel';
  // A run is parked at a boundary, so it was asked to before that.
  const asked = verb === 'park' ? Math.max(0, from - 1) : from;
  return [
    {
      at: asked,
      place,
      perform: (supervisor, runId) =>
        void (verb === 'park' ? supervisor.park(runId) : supervisor.cancel(runId, {})),
    },
  ];
}
