import { expect } from 'vitest';
import type { RunLimits } from '../../machines/vocabulary.ts';
import type { ToolSource } from '../../src/tool.ts';
import { createSupervisor } from '../../src/create-supervisor.ts';
import type { RunRecord, StartRun, SupervisorHandle } from '../../src/handle.ts';
import type { Ids } from '../../src/ids.ts';
import type { Envelope, JournalEvent } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import { createLog, type Log } from '../../src/log.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import type { AgentDefinition } from '../../src/supervisor-options.ts';
import { createCountingIds } from '../../src/testing/ids.ts';
import { createVirtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts';
import { ManualModel } from './manual-model.ts';
import { ManualTools } from './manual-tools.ts';
import { checkAtEnd, isChecked } from './sound-journals.ts';

export interface RunWorldOptions {
  /** Id of its only agent; `agent` unless told. */
  readonly agentId?: string;
  readonly tools?: readonly string[];
  readonly requireApproval?: readonly string[];
  readonly limits?: Partial<RunLimits>;
  readonly toolTimeoutMs?: number;
  readonly approvalTimeoutMs?: number;
  readonly graceMs?: number;
  readonly runsMax?: number;
  readonly store?: Store;
  readonly source?: ToolSource;
  /** Epoch milliseconds at which its clock stands. */
  readonly startMs?: number;
  readonly ids?: Ids;
  readonly log?: Log;
  readonly canPark?: boolean;
  readonly idempotentTools?: readonly string[];
  readonly recover?: 'fail' | 'resume';
  readonly resumeOnStart?: boolean;
  readonly resumeConcurrency?: number;
  readonly checkInvariants?: boolean;
  /** What else is to be told of its agent. */
  readonly agent?: Partial<AgentDefinition>;
}

/** A whole supervisor in this process: real charts, ports and journal; time, model and tools are the test's. */
export class RunWorld {
  readonly clock: VirtualClock;
  readonly model = new ManualModel();
  readonly tools = new ManualTools();
  readonly store: Store;
  readonly supervisor: SupervisorHandle;
  readonly #sessions = new Set<string>();

  constructor(options: RunWorldOptions = {}) {
    const { tools = [], limits, graceMs, runsMax, toolTimeoutMs, approvalTimeoutMs } = options;
    this.clock = createVirtualClock(options.startMs ?? 1_800_000_000_000);
    this.store = options.store ?? readableAtEnd(createMemoryStore());
    checkAtEnd(this.store);
    this.supervisor = createSupervisor({
      agents: [
        {
          id: options.agentId ?? 'agent',
          model: this.model,
          systemPrompt: 'Be brief.',
          tools: tools.map((name) => this.tools.tool(name)),
          ...(options.requireApproval && { requireApproval: options.requireApproval }),
          ...(options.source && { toolSource: options.source }),
          ...(limits && { limits }),
          ...(toolTimeoutMs !== undefined && { toolTimeoutMs }),
          ...(approvalTimeoutMs !== undefined && { approvalTimeoutMs }),
          ...(options.canPark !== undefined && { canPark: options.canPark }),
          ...(options.idempotentTools && { idempotentTools: options.idempotentTools }),
          ...options.agent,
        },
      ],
      ...recoveryOptions(options),
      store: this.store,
      clock: this.clock,
      ids: options.ids ?? createCountingIds(),
      log: options.log ?? createLog({ level: 'silent' }),
      ...(graceMs !== undefined && { graceMs }),
      ...(runsMax !== undefined && { runsMax }),
    });
  }

  /** Starts a run and lets it come to its first request. */
  async start(change: Partial<StartRun> = {}): Promise<SimulatedRun> {
    const command: StartRun = {
      agent: 'agent',
      sessionId: `session-${this.#sessions.size + 1}`,
      messages: [{ role: 'user', content: 'Hello' }],
      prompt: 'Hello',
      streaming: true,
      liveness: { policy: 'cancel', graceMs: 0 },
      onBusy: 'parallel',
      requestHeaders: {},
      claim: { observerId: 'reader' },
      ...change,
    };
    this.#sessions.add(command.sessionId);
    const [started] = await Promise.all([this.supervisor.start(command), this.clock.settle()]);
    const { runId, sessionId } = started;
    await this.clock.settle();
    return new SimulatedRun(this, runId, sessionId);
  }

  /** A run that the supervisor started by itself, such as one that goes on with a parked one. */
  run(runId: string, sessionId: string): SimulatedRun {
    this.#sessions.add(sessionId);
    return new SimulatedRun(this, runId, sessionId);
  }

  /** The run that goes on with a parked one, once it is there. */
  async continuationOf(run: SimulatedRun): Promise<SimulatedRun> {
    await this.clock.settle();
    const { continued_by: runId } = await run.record();
    if (runId === null) throw new Error('no run goes on with it');
    return this.run(runId, run.sessionId);
  }

  /** Resumes a parked run by request, and lets the run that goes on with it come to rest. */
  async resume(run: Pick<SimulatedRun, 'runId' | 'sessionId'>): Promise<SimulatedRun> {
    const [resumed] = await Promise.all([
      this.supervisor.resume(run.runId, {}),
      this.clock.settle(),
    ]);
    if (resumed === undefined) throw new Error('the parked run is not known');
    await this.clock.settle();
    return this.run(resumed.runId, run.sessionId);
  }

  async journal(sessionId: string): Promise<Envelope[]> {
    await this.clock.settle();
    const stored = await this.supervisor.journal.read(sessionId, 1, 10_000);
    return stored.map((entry) => JSON.parse(entry.json) as Envelope);
  }

  /** Nothing waits, but for the first approval of a parked run to expire. */
  async expectNoTimers(): Promise<void> {
    const [first] = await this.store.listExpiring(1);
    const timers = [...this.clock.pending];
    const own = timers.findIndex(({ dueAt }) => dueAt === first?.expiresAt);
    if (own >= 0) timers.splice(own, 1);
    expect(timers, 'timers that survive').toEqual([]);
  }

  /** Every journal keeps its invariants, every run has ended, and nothing waits any more. */
  async expectSound(): Promise<void> {
    for (const sessionId of this.#sessions) {
      const violations = checkJournal(await this.journal(sessionId), { ended: true });
      expect(violations, `the journal of ${sessionId}`).toEqual([]);
    }
    await this.expectNoTimers();
    isChecked(this.store);
  }
}

function recoveryOptions(options: RunWorldOptions) {
  const { recover, resumeOnStart, resumeConcurrency, checkInvariants } = options;
  return {
    ...(checkInvariants !== undefined && { checkInvariants }),
    ...(recover !== undefined && { recover }),
    ...(resumeOnStart !== undefined && { resumeOnStart }),
    ...(resumeConcurrency !== undefined && { resumeConcurrency }),
  };
}

/** A store that can still be read when the supervisor has closed it. */
function readableAtEnd(store: Store): Store {
  return new Proxy(store, {
    get: (target, key) => {
      if (key === 'close') return () => {};
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** One run of a {@link RunWorld}. */
export class SimulatedRun {
  readonly #world: RunWorld;
  readonly runId: string;
  readonly sessionId: string;

  constructor(world: RunWorld, runId: string, sessionId: string) {
    this.#world = world;
    this.runId = runId;
    this.sessionId = sessionId;
  }

  async events(): Promise<JournalEvent[]> {
    const entries = await this.#world.journal(this.sessionId);
    return entries
      .filter((entry) => entry.run_id === this.runId)
      .map((entry) => entry.payload.event);
  }

  /** The types of its entries, in order; text deltas and approvals are told apart by nothing else. */
  async types(): Promise<string[]> {
    return (await this.events()).map((event) => event.type);
  }

  async event<Type extends JournalEvent['type']>(
    type: Type,
  ): Promise<Extract<JournalEvent, { type: Type }>> {
    const found = (await this.events()).find((event) => event.type === type);
    if (found === undefined) throw new Error(`the run has no ${type} entry`);
    return found as Extract<JournalEvent, { type: Type }>;
  }

  async record(): Promise<RunRecord> {
    const record = await this.#world.supervisor.record(this.runId);
    if (record === undefined) throw new Error('the run is not known');
    return record;
  }

  release(observerId = 'reader'): Promise<void> {
    this.#world.supervisor.release(this.runId, observerId);
    return this.#world.clock.settle();
  }

  async park(): Promise<RunRecord | undefined> {
    const [record] = await Promise.all([
      this.#world.supervisor.park(this.runId),
      this.#world.clock.settle(),
    ]);
    await this.#world.clock.settle();
    return record;
  }

  async cancel(message?: string): Promise<void> {
    const done = this.#world.supervisor.cancel(this.runId, { ...(message && { message }) });
    await Promise.all([done, this.#world.clock.settle()]);
  }
}
