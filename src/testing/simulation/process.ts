import type { Server } from 'node:http';
import type { RunLimits } from '../../../machines/vocabulary.ts';
import { superviseWith } from '../../create-supervisor.ts';
import type { SupervisorHandle, ShutdownOutcome } from '../../handle.ts';
import { createApp } from '../../http/app.ts';
import { createChatRoutes } from '../../http/chat/routes.ts';
import type { HttpConfig } from '../../http/config.ts';
import { serveApp } from '../../http/server.ts';
import { SsePool } from '../../http/sse-pool.ts';
import type { Ids } from '../../ids.ts';
import { createLog, type Log } from '../../log.ts';
import { Doors } from '../../server.ts';
import type { AgentDefinition } from '../../supervisor-options.ts';
import type { ToolSource } from '../../tool.ts';
import { channelOf, type OnAnswer } from './channel.ts';
import type { DiskConnection, SimDisk } from './disk.ts';
import { MemorySocket } from './memory-socket.ts';
import type { SimModels } from './model.ts';
import type { Reach } from './reach.ts';
import type { SimSettings } from './steps.ts';
import { type Executed, toolsOf } from './tools.ts';
import type { ProcessClock, WorldClock } from './world-clock.ts';

/** Short enough for a history to meet each of them. */
const LIMITS: Partial<RunLimits> = {
  setupMs: 5_000,
  firstChunkMs: 20_000,
  inactivityMs: 15_000,
  stepMs: 35_000,
  stepAllowanceMs: 0,
  totalMs: 90_000,
  parkMs: 20_000,
  toolStopGraceMs: 4_000,
  turnsMax: 4,
  parallelToolsMax: 2,
};

const TOOL_MS = 30_000;
const APPROVAL_MS = 40_000;
const REMINDER_MS = 15_000;
const GRACE_MS = 5_000;

/** How long the tools of a run take to come, as its start says. */
export const SETUP_HEADER = 'x-setup-ms';

/** One line of a process's log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly err?: { readonly type?: string };
  readonly [field: string]: unknown;
}

export interface ProcessOptions {
  readonly number: number;
  readonly clock: WorldClock;
  readonly disk: SimDisk;
  readonly models: SimModels;
  readonly ids: Ids;
  readonly random: () => number;
  readonly reach: Reach;
  readonly settings: SimSettings;
  readonly recover: 'fail' | 'resume';
  readonly resumeOnStart: boolean;
  readonly executed: (execution: Omit<Executed, 'order'>) => void;
  readonly hookAnswered: OnAnswer;
}

/** A server of a simulated world: all of the product but TCP and the file, on the world's time. */
export class SimProcess {
  readonly number: number;
  readonly handle: SupervisorHandle;
  readonly clock: ProcessClock;
  readonly log: LogLine[] = [];
  /** Set when it has left by itself. */
  outcome: ShutdownOutcome | undefined;
  #population: () => Readonly<Record<string, number>> = () => ({});
  readonly #disk: DiskConnection;
  readonly #server: Server;
  readonly #sockets = new Set<MemorySocket>();
  #dead = false;

  constructor(options: ProcessOptions) {
    this.number = options.number;
    this.clock = options.clock.process();
    this.#disk = options.disk.connect();
    const { clock } = this;
    const log = this.#createLog();
    const doors = new Doors(log, clock);
    this.handle = this.#supervise(options, { log, doors });
    const deps = {
      handle: this.handle,
      config: configOf(options.settings),
      log,
      clock,
      ids: options.ids,
    };
    const httpDeps = { ...deps, pool: new SsePool({ streamsMax: 100 }) };
    const served = serveApp(createApp({ ...httpDeps, chat: createChatRoutes(httpDeps) }), clock);
    this.#server = served.server;
    doors.open(served.doors);
    void this.handle.stopped.then(
      (outcome) => {
        if (!this.#dead) this.#leave(outcome, doors);
      },
      () => {},
    );
  }

  get alive(): boolean {
    return !this.#dead && this.outcome === undefined;
  }

  /** Actors in the pools of its system. */
  get actors(): number {
    return Object.values(this.#population()).reduce((sum, count) => sum + count, 0);
  }

  /** A connection to it; undefined where nobody listens. */
  connect(): MemorySocket | undefined {
    if (!this.alive) return undefined;
    const [theirs, ours] = MemorySocket.pair();
    this.#sockets.add(ours);
    ours.once('close', () => this.#sockets.delete(ours));
    this.#server.emit('connection', ours);
    return theirs;
  }

  /** It dies: nothing of it happens any more, but for what the disk still makes of its writes. */
  kill(keeps: number): void {
    this.#dead = true;
    this.#disk.kill(keeps);
    this.clock.kill();
    this.#reset();
  }

  #supervise(
    { clock, disk, models, ids, ...options }: ProcessOptions,
    { log, doors }: { readonly log: Log; readonly doors: Doors },
  ): SupervisorHandle {
    const desk = this.#agent('desk', { clock, disk, models, ids, ...options });
    const channel = channelOf(this.clock, (decisionId, approved) => {
      if (!this.#dead) options.hookAnswered(decisionId, approved);
    });
    return superviseWith(
      {
        agents: [desk, { ...desk, id: 'hooked', approvalChannel: channel }],
        store: this.#disk.store,
        clock: this.clock,
        ids,
        log,
        graceMs: GRACE_MS,
        recover: options.recover,
        resumeOnStart: options.resumeOnStart,
      },
      {
        random: options.random,
        onShutdown: (fact) => {
          options.reach.count('states', `shutdown: ${fact.type.slice('shutdown.'.length)}`);
          doors.hear(fact);
        },
        onSystem: (system) => {
          this.#population = () => system.population;
        },
      },
    );
  }

  #agent(id: string, { models, number, executed }: ProcessOptions): AgentDefinition {
    const tools = toolsOf({
      process: number,
      clock: this.clock,
      isDead: () => this.#dead,
      executed: (execution) => executed({ ...execution, process: number }),
    });
    const toolSource: ToolSource = {
      acquire: async ({ requestHeaders, signal }) => {
        await this.#pass(Number(requestHeaders[SETUP_HEADER] ?? 0), signal);
        return { tools, servers: [], release: () => Promise.resolve() };
      },
    };
    return {
      id,
      model: models.provider(this.clock),
      systemPrompt: 'Be brief.',
      toolSource,
      requireApproval: ['danger'],
      allowSessionGrants: true,
      allowArgumentEdits: true,
      idempotentTools: ['again'],
      approvalTimeoutMs: APPROVAL_MS,
      approvalReminderMs: REMINDER_MS,
      toolTimeoutMs: TOOL_MS,
      limits: LIMITS,
    };
  }

  async #pass(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (ms <= 0) return;
    const over = Promise.withResolvers<void>();
    const stop = (): void => over.reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const timer = this.clock.setTimeout(over.resolve, ms);
    try {
      await over.promise;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', stop);
    }
  }

  #createLog(): Log {
    const write = (line: string): void => {
      if (!this.#dead) this.log.push(JSON.parse(line) as LogLine);
    };
    return createLog({ level: 'warn', destination: { write } });
  }

  #leave(outcome: ShutdownOutcome, doors: Doors): void {
    this.outcome = outcome;
    void doors.close();
    this.#reset();
  }

  #reset(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

const configOf = ({ chat, chatOnBusy }: SimSettings): HttpConfig => ({
  host: '127.0.0.1',
  port: 0,
  allowedOrigins: [],
  bodyBytesMax: 65_536,
  heartbeatMs: 15_000,
  sseBufferBytesMax: 262_144,
  sseStallMs: 30_000,
  sseStreamsMax: 100,
  version: 'simulated',
  toolResultMode: 'hidden',
  toolResultMaxLength: 1_000,
  customEvents: false,
  emitReasoning: false,
  debugProviderErrors: false,
  liveness: chat,
  onBusy: chatOnBusy,
  headless: { liveness: { policy: 'continue', graceMs: 0 }, onBusy: 'reject' },
});
