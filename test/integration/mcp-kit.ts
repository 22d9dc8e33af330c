import { join } from 'node:path';
import { createActor } from 'xstate';
import { poolOf } from '../../machines/pool.ts';
import type { ToolContext, ToolLease, ToolProgress } from '../../src/tool.ts';
import { systemClock } from '../../src/clock.ts';
import { MCP_LIMITS, type McpLimits } from '../../src/mcp/limits.ts';
import { createMcpPorts } from '../../src/mcp/ports.ts';
import type { McpServerConfig, StdioServerConfig } from '../../src/mcp/server-config.ts';
import { createToolSource, type ToolSourceOptions } from '../../src/mcp/tool-source.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn';
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

/** The client side of MCP with its pool, as the supervisor would hold it. */
export function startMcp(limits: Partial<McpLimits> = {}) {
  const lines: LogLine[] = [];
  const waiters = new Set<() => void>();
  const write = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields: fields as Record<string, unknown>, message });
    for (const look of [...waiters]) look();
  };
  const log = { debug: write('debug'), info: write('info'), warn: write('warn') };
  const all = { ...MCP_LIMITS, ...limits };
  const ports = createMcpPorts({ clock: systemClock, log, limits: all, version: '0.0.0' });
  const pool = createActor(poolOf('mcp', ports.machine), { input: { parent: undefined } }).start();
  let runs = 0;

  const source = (servers: readonly McpServerConfig[], more: Partial<ToolSourceOptions> = {}) =>
    createToolSource({
      servers,
      sanitizeSchemas: true,
      connections: pool,
      ports,
      clock: systemClock,
      log,
      limits: all,
      ...more,
    });

  return {
    pool,
    ports,
    lines,
    /** Resolves when a line that it looks for has been logged. */
    untilLogged: (isIt: (line: LogLine) => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!lines.some(isIt)) return;
          waiters.delete(look);
          resolve();
        };
        waiters.add(look);
        look();
      }),
    source,
    acquire: (
      servers: readonly McpServerConfig[],
      more: Partial<ToolSourceOptions> & {
        requestHeaders?: Record<string, string>;
        signal?: AbortSignal;
      } = {},
    ): Promise<ToolLease> => {
      const { requestHeaders = {}, signal = new AbortController().signal, ...options } = more;
      runs += 1;
      return source(servers, options).acquire({ runId: `run-${runs}`, requestHeaders, signal });
    },
    /** Closes every connection in order and resolves when the pool is empty. */
    stop: async () => {
      const empty = poolIsEmpty(pool);
      pool.send({ type: 'pool.tellAll', event: { type: 'mcp.close' } });
      await empty;
      pool.stop();
    },
  };
}

export type Mcp = ReturnType<typeof startMcp>;

export function poolIsEmpty(pool: Mcp['pool']): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (pool.getSnapshot().actors.size === 0) resolve();
    };
    pool.on('pool.ended', () => queueMicrotask(look));
    pool.on('pool.crashed', () => queueMicrotask(look));
    look();
  });
}

/** What one call told, and the means to stop it. */
export function callContext(signal?: AbortSignal) {
  const stop = new AbortController();
  const told = {
    started: [] as (string | number | undefined)[],
    progress: [] as ToolProgress[],
    cancelSent: [] as { requestId: string; confirmed: boolean }[],
  };
  const waiters = new Set<() => void>();
  const changed = () => {
    for (const look of [...waiters]) look();
  };
  const context: ToolContext = {
    runId: 'run',
    sessionId: 'session',
    toolCallId: 'call',
    signal: signal ?? stop.signal,
    started: ({ progressToken }) => {
      told.started.push(progressToken);
      changed();
    },
    progress: (progress) => {
      told.progress.push(progress);
      changed();
    },
    cancelSent: (sent) => {
      told.cancelSent.push(sent);
      changed();
    },
  };
  /** Resolves when the call has told what `isTold` looks for. */
  const until = (isTold: (so: typeof told) => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isTold(told)) return;
        waiters.delete(look);
        resolve();
      };
      waiters.add(look);
      look();
    });
  return { context, told, until, abort: (reason: unknown) => stop.abort(reason) };
}

export function toolNamed(lease: ToolLease, name: string) {
  const tool = lease.tools.find((candidate) => candidate.spec.name === name);
  if (tool === undefined) {
    const names = lease.tools.map((candidate) => candidate.spec.name).join(', ');
    const reasons = lease.servers.map((server) => server.reason).join(', ');
    throw new Error(`No tool ${name} among [${names}]; reasons: [${reasons}]`);
  }
  return tool;
}

export const demoServer = (name = 'demo'): StdioServerConfig => ({
  name,
  transport: 'stdio',
  cmd: [process.execPath],
  args: [join(import.meta.dirname, '../../src/mcp/demo-server.ts')],
  env: {},
});

export const stdioFixture = (
  fixture: string,
  more: { name?: string; args?: string[]; env?: Record<string, string> } = {},
): StdioServerConfig => ({
  name: more.name ?? fixture,
  transport: 'stdio',
  cmd: [process.execPath],
  args: [join(import.meta.dirname, 'mcp-fixtures', fixture), ...(more.args ?? [])],
  env: more.env ?? {},
});
