import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import OpenAI from 'openai';
import { afterEach, expect } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { Flags } from '../../src/config/resolve.ts';
import type { Environment } from '../../src/config/templates.ts';
import type { RunRecord } from '../../src/handle.ts';
import type { Envelope, JournalEvent } from '../../src/journal/events.ts';
import { createLog } from '../../src/log.ts';
import { MCP_LIMITS } from '../../src/mcp/limits.ts';
import { type RunningServer, startServer } from '../../src/server.ts';
import {
  type FakeUpstream,
  startFakeUpstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from '../../src/testing/fake-upstream.ts';
import {
  type HttpFixture,
  type HttpServerOptions,
  startHttpServer,
} from '../integration/mcp-http-kit.ts';
import { configOf } from './config-kit.ts';
import { expectSoundStore } from './system-store.ts';
import { type Asked, Exchange, HELLO } from './system-client.ts';

/** In no log, no journal and no response may this be found. */
const API_KEY = 'sk-system-test-0123456789';
const DEMO_SERVER = resolve('src/mcp/demo-server.ts');
/** Far beyond what the end of a test needs: whatever is still in flight then has been forgotten. */
const GRACE_SECS = '15';
const SETTLE_MS = 10;
const SETTLE_TRIES = 500;

export interface SystemOptions {
  /** Keys of `[agent]`, beside its name and prompt. */
  readonly agent?: string;
  /** Whole tables. */
  readonly toml?: string;
  readonly flags?: Flags;
  readonly env?: Environment;
  /** `web` is the SDK's server over HTTP, in this process; `demo` the bundled one over stdio. */
  readonly mcp?: readonly ('web' | 'demo')[];
  readonly web?: HttpServerOptions;
  /** Where the store is, for a second server on the same one. */
  readonly dataDir?: string;
  /** How long an MCP connection stays open that no run uses; the product's minute without it. */
  readonly mcpIdleMs?: number;
  /** The test lets a shutdown drain what is in flight. */
  readonly drains?: true;
}

export type LogEntry = Readonly<Record<string, unknown>> & { readonly msg: string };

/** The whole server in this process, on real sockets, a real database and a real clock. */
export class SystemWorld {
  readonly server: RunningServer;
  readonly upstream: FakeUpstream;
  readonly web: HttpFixture;
  readonly dataDir: string;
  readonly log: readonly LogEntry[];
  /** What the upstream does with requests that no answer was queued for. */
  respond: (request: UpstreamRequest) => UpstreamAnswer = () => {
    throw new Error('No answer was queued for this request.');
  };
  readonly #answers: UpstreamAnswer[];

  constructor(parts: WorldParts) {
    this.server = parts.server;
    this.upstream = parts.upstream;
    this.web = parts.web;
    this.dataDir = parts.dataDir;
    this.log = parts.log;
    this.#answers = parts.answers;
    parts.fallback.respond = (request) => this.respond(request);
  }

  get url(): string {
    return this.server.url;
  }

  /** Queues one answer of the upstream for each request to come. */
  answer(...answers: readonly UpstreamAnswer[]): void {
    this.#answers.push(...answers);
  }

  /**
   * The sessions that `web` keeps for us. One whose `initialize` was given up before its answer came
   * is not counted: nobody but that server knows its id.
   */
  get mcpSessions(): readonly string[] {
    const used = new Set(this.web.seen.map(({ headers }) => headers['mcp-session-id']));
    return [...this.web.sessions.keys()].filter((id) => used.has(id));
  }

  /** The official client; it asks once. */
  client(options: { readonly maxRetries?: number } = {}): OpenAI {
    return new OpenAI({ baseURL: `${this.url}/v1`, apiKey: 'none', maxRetries: 0, ...options });
  }

  ask(path: string, asked: Asked = {}): Exchange {
    return new Exchange(this.url + path, asked);
  }

  /** A chat request, streaming unless told otherwise, in a session of its own or the one named. */
  chat(body: object = {}, headers: Readonly<Record<string, string>> = {}): Exchange {
    const request = { ...HELLO, stream: true, ...body };
    return this.ask('/v1/chat/completions', { method: 'POST', headers, body: request });
  }

  /** The first entry of a session that is as wanted, now or when it comes. */
  entry(
    sessionId: string,
    isIt: (event: JournalEvent, entry: Envelope) => boolean,
  ): Promise<Envelope> {
    const { journal } = this.server.handle;
    return new Promise((found, failed) => {
      const follower = journal.follow(
        { sessionId, from: 1 },
        {
          entries: (batch) => {
            const entry = batch
              .map(({ json }) => JSON.parse(json) as Envelope)
              .find((candidate) => isIt(candidate.payload.event, candidate));
            if (entry === undefined) return true;
            // It may be found before there is a follower to close.
            queueMicrotask(() => follower.close());
            found(entry);
            return true;
          },
          gap: () => failed(new Error('The journal has a gap.')),
          failed,
        },
      );
    });
  }

  /** The first entry of this type. */
  async event<Type extends JournalEvent['type']>(
    sessionId: string,
    type: Type,
  ): Promise<Extract<JournalEvent, { type: Type }>> {
    const { payload } = await this.entry(sessionId, (event) => event.type === type);
    return payload.event as Extract<JournalEvent, { type: Type }>;
  }

  /** Every entry of a session so far. */
  async journal(sessionId: string): Promise<readonly JournalEvent[]> {
    const stored = await this.server.handle.journal.read(sessionId, 1, 10_000);
    return stored.map(({ json }) => (JSON.parse(json) as Envelope).payload.event);
  }

  /** The run's record as the API gives it. */
  async record(runId: string): Promise<RunRecord> {
    return (await this.ask(`/v1/runs/${runId}`).json()) as unknown as RunRecord;
  }

  /** The record of the session's first run, after its last entry. */
  async ended(sessionId: string): Promise<RunRecord> {
    const { run_id: runId } = await this.entry(sessionId, (event) => 'end' in event);
    return this.record(String(runId));
  }
}

interface WorldParts {
  readonly server: RunningServer;
  readonly upstream: FakeUpstream;
  readonly web: HttpFixture;
  readonly dataDir: string;
  readonly log: readonly LogEntry[];
  readonly answers: UpstreamAnswer[];
  readonly fallback: { respond: (request: UpstreamRequest) => UpstreamAnswer };
}

/**
 * Gives a way to start worlds, and closes them after each test of the file. Closing checks what must
 * hold whatever the test did: the shutdown is clean and waits for nothing, every journal keeps its
 * invariants, every run has ended, no secret was told, and nothing keeps the process alive.
 */
export function systemWorlds(): (options?: SystemOptions) => Promise<SystemWorld> {
  const open: { readonly world: SystemWorld; readonly options: SystemOptions }[] = [];
  let before: Resources = new Map();
  afterEach(async () => {
    const worlds = open.splice(0);
    for (const { world } of worlds) world.server.shutdown('SIGTERM');
    for (const { world, options } of worlds) await expectCleanStop(world, options);
    for (const dataDir of new Set(worlds.map(({ world }) => world.dataDir))) {
      await expectSoundStore(dataDir, API_KEY);
    }
    for (const { world } of worlds) rmSync(world.dataDir, { recursive: true, force: true });
    expect(await leftovers(before), 'what keeps the process alive').toEqual([]);
  });
  return async (options = {}) => {
    if (open.length === 0) before = resources();
    const world = await startWorld(options);
    open.push({ world, options });
    return world;
  };
}

async function startWorld(options: SystemOptions): Promise<SystemWorld> {
  const log: LogEntry[] = [];
  const answers: UpstreamAnswer[] = [];
  const fallback: WorldParts['fallback'] = { respond: () => ({ status: 500 }) };
  const respond = (request: UpstreamRequest) => answers.shift() ?? fallback.respond(request);
  const upstream = await startFakeUpstream({ respond, apiKey: API_KEY });
  const web = await startHttpServer(options.web);
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'runwarden-system-'));
  const flags = { port: '0', 'data-dir': dataDir, 'shutdown-timeout-secs': GRACE_SECS };
  const toml = systemToml({ ...options, upstream: upstream.url, web: web.port });
  const { env = {} } = options;
  const config = configOf(toml, { env, flags: { ...flags, ...options.flags } });
  const destination = { write: (line: string) => void log.push(JSON.parse(line) as LogEntry) };
  const server = await startServer(config, {
    log: createLog({ level: 'debug', destination }),
    clock: hastened(MCP_LIMITS.idleMs, options.mcpIdleMs ?? MCP_LIMITS.idleMs),
  }).catch(async (error: unknown) => {
    await Promise.all([upstream.close(), web.stop()]);
    throw error;
  });
  return new SystemWorld({ server, upstream, web, dataDir, log, answers, fallback });
}

/** The system's clock, on which a delay of `fromMs` takes `toMs` and any other what it says. */
function hastened(fromMs: number, toMs: number): Clock {
  const setTimeout: Clock['setTimeout'] = (fn, ms) =>
    systemClock.setTimeout(fn, ms === fromMs ? toMs : ms);
  return { ...systemClock, setTimeout };
}

/** The configuration of one agent on an OpenAI-compatible upstream. */
export function systemToml(
  parts: Pick<SystemOptions, 'agent' | 'toml' | 'mcp'> & { upstream: string; web?: number },
): string {
  const servers = (parts.mcp ?? []).map((name) =>
    name === 'demo'
      ? `[mcp.servers.demo]
transport = "stdio"
cmd = ${JSON.stringify([process.execPath, DEMO_SERVER])}`
      : `[mcp.servers.web]
transport = "http_streamable"
url = "http://127.0.0.1:${parts.web}/mcp"`,
  );
  const agent = `[agent]
name = "agent"
system_prompt = "Be brief."
${parts.agent ?? ''}
[agent.llm]
provider = "openai"
api_key = "${API_KEY}"
model = "model"
base_url = "${parts.upstream}"`;
  return [agent, ...servers, parts.toml ?? ''].join('\n');
}

async function expectCleanStop(world: SystemWorld, options: SystemOptions): Promise<void> {
  const outcome = await world.server.stopped;
  expect(outcome).toEqual({ cleanShutdown: true, unabortedTasks: false, exitCode: 0 });
  const late = world.log.filter(({ msg }) => msg.startsWith('Grace period expired'));
  expect(late.length, 'whether runs were in flight after the grace').toBe(options.drains ? 1 : 0);
  expect(world.log.filter(({ level }) => level === 'error')).toEqual([]);
  expect(JSON.stringify(world.log)).not.toContain(API_KEY);
  expect(world.upstream.faults, 'what the strict upstream refused').toEqual([]);
  expect(world.mcpSessions, 'MCP sessions that nobody ended').toEqual([]);
  await world.upstream.close();
  await world.web.stop();
}

type Resources = ReadonlyMap<string, number>;

/** Timers, sockets, processes and the like that keep the process alive, counted by kind. */
function resources(): Resources {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** What is there beyond `before` and stays. No event tells of the last handle that closes. */
async function leftovers(before: Resources): Promise<readonly string[]> {
  for (let tries = 0; ; tries += 1) {
    const more = [...resources()].filter(([kind, count]) => count > (before.get(kind) ?? 0));
    if (more.length === 0 || tries === SETTLE_TRIES) return more.map(([kind]) => kind);
    await new Promise((settled) => setTimeout(settled, SETTLE_MS).unref());
    await new Promise((settled) => setImmediate(settled));
  }
}
