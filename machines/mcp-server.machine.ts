import { assign, emit, fromCallback, fromPromise, setup } from 'xstate';
import {
  type ConnectionRef,
  type ConnectServerInput,
  type McpFailure,
  type McpServerEmitted,
  type McpServerEvent,
  type McpServerInput,
  type McpServerOutput,
  type McpServerTag,
  mcpBackoffMs,
  type ServerCatalogue,
} from './mcp-server.vocabulary.ts';

/** What the chart remembers. `reason` is why the last attempt or connection failed. */
export interface McpServerContext extends McpServerInput {
  /** How many leases count on this connection. A count, so that its price is flat. */
  readonly held: number;
  readonly evicted: boolean;
  readonly failures: number;
  readonly toolsCount: number;
  readonly reason: string | undefined;
}

const UNPROVIDED = 'The MCP ports have no implementation here; provide() them from src/mcp.';

const mcpServerSetup = setup({
  types: {
    context: {} as McpServerContext,
    input: {} as McpServerInput,
    events: {} as McpServerEvent,
    emitted: {} as McpServerEmitted,
    output: {} as McpServerOutput,
    tags: {} as McpServerTag,
  },
  actors: {
    connectServer: fromPromise<ServerCatalogue, ConnectServerInput>(() =>
      Promise.reject(new Error(UNPROVIDED)),
    ),
    closeServer: fromPromise<void, ConnectionRef>(() => Promise.reject(new Error(UNPROVIDED))),
    watchServer: fromCallback<McpServerEvent, ConnectionRef>(() => {
      throw new Error(UNPROVIDED);
    }),
  },
  actions: {
    hold: assign({ held: ({ context }) => context.held + 1 }),
    letGo: assign({ held: ({ context }) => Math.max(0, context.held - 1) }),
    markEvicted: assign({ evicted: true }),
    keepCatalogue: assign({
      toolsCount: (_, params: { toolsCount: number }) => params.toolsCount,
      reason: undefined,
    }),
    countFailure: assign({
      failures: ({ context }) => context.failures + 1,
      reason: (_, params: { reason: string }) => params.reason,
    }),
    forgetFailures: assign({ failures: 0 }),
    tellConnecting: emit(({ context }) => ({
      type: 'mcp.connecting',
      connectionId: context.connectionId,
      serverName: context.serverName,
      attempt: context.failures + 1,
    })),
    tellConnected: emit(({ context }) => ({
      type: 'mcp.connected',
      connectionId: context.connectionId,
      serverName: context.serverName,
      toolsCount: context.toolsCount,
    })),
    tellFailed: emit(({ context }) => ({
      type: 'mcp.failed',
      connectionId: context.connectionId,
      serverName: context.serverName,
      reason: context.reason ?? 'unknown',
      retryAfterMs: mcpBackoffMs(context.failures, context.limits),
    })),
    tellDegraded: emit(({ context }) => ({
      type: 'mcp.degraded',
      connectionId: context.connectionId,
      serverName: context.serverName,
      reason: context.reason ?? 'unknown',
    })),
    tellClosed: emit(({ context }) => ({
      type: 'mcp.closed',
      connectionId: context.connectionId,
      serverName: context.serverName,
    })),
  },
  guards: {
    isEvicted: ({ context }) => context.evicted,
    isUnheld: ({ context }) => context.held === 0,
    isLast: ({ context }) => context.held <= 1,
    isLastEvicting: ({ context }, params: { evict: boolean }) => params.evict && context.held <= 1,
    isEvicting: (_, params: { evict: boolean }) => params.evict,
    isTired: ({ context }) => context.failures >= context.limits.failuresMax,
  },
  delays: {
    connect: ({ context }) => context.limits.connectMs,
    close: ({ context }) => context.limits.closeMs,
    idle: ({ context }) => context.limits.idleMs,
    steady: ({ context }) => context.limits.steadyMs,
    backoff: ({ context }) => mcpBackoffMs(context.failures, context.limits),
  },
});

const evictOf = ({ event }: { event: { evict: boolean } }) => ({ evict: event.evict });
const referTo = ({ context }: { context: McpServerContext }): ConnectionRef => ({
  connectionId: context.connectionId,
});

/**
 * One pooled connection to one MCP server with one header set.
 *
 * MS1. At most one connect is in flight, and it is bounded by `connectMs`.
 * MS2. An acquire is counted exactly when the state is tagged `accepting`; the sender looks first.
 * MS3. Once evicted a connection lets nobody new in, and it closes when its last holder is gone.
 * MS4. A connection that nobody holds closes after `idleMs`, or at once if it was lost or evicted.
 * MS5. A failed connect rests for its backoff; only the first acquire after that tries again.
 * MS6. A connection lost under its holders is rebuilt after a backoff, `failuresMax` times in a row.
 * MS7. Every path through `closing` ends, because the close is bounded by `closeMs`.
 * MS8. Client objects, header values and commands never enter the context.
 */
export const mcpServerMachine = mcpServerSetup.createMachine({
  id: 'mcpServer',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    ...input,
    held: 0,
    evicted: false,
    failures: 0,
    toolsCount: 0,
    reason: undefined,
  }),
  initial: 'idle',
  states: {
    idle: {
      tags: ['accepting'],
      on: {
        'mcp.acquire': { target: 'connecting', actions: 'hold' },
        'mcp.close': { target: 'closed' },
      },
    },
    connecting: {
      entry: 'tellConnecting',
      initial: 'open',
      invoke: {
        id: 'connectServer',
        src: 'connectServer',
        input: ({ context }) => ({
          connectionId: context.connectionId,
          attempt: context.failures + 1,
        }),
        onDone: [
          {
            guard: 'isEvicted',
            target: 'ready.leaving',
            actions: {
              type: 'keepCatalogue',
              params: ({ event }) => ({ toolsCount: event.output.toolsCount }),
            },
          },
          {
            target: 'ready.held',
            actions: {
              type: 'keepCatalogue',
              params: ({ event }) => ({ toolsCount: event.output.toolsCount }),
            },
          },
        ],
        onError: {
          target: 'deciding',
          actions: {
            type: 'countFailure',
            params: ({ event }) => ({ reason: toReason(event.error) }),
          },
        },
      },
      after: {
        connect: {
          target: 'deciding',
          actions: {
            type: 'countFailure',
            params: ({ context }) => ({
              reason: `did not connect within ${context.limits.connectMs / 1_000} s`,
            }),
          },
        },
      },
      on: {
        'mcp.release': [
          { guard: 'isLast', target: 'closing', actions: 'letGo' },
          {
            guard: { type: 'isEvicting', params: evictOf },
            target: '.leaving',
            actions: ['letGo', 'markEvicted'],
          },
          { actions: 'letGo' },
        ],
        'mcp.close': { target: 'closing' },
      },
      states: {
        open: { tags: ['accepting'], on: { 'mcp.acquire': { actions: 'hold' } } },
        leaving: {},
      },
    },
    deciding: {
      always: [{ guard: 'isEvicted', target: 'closing' }, { target: 'failed' }],
    },
    ready: {
      tags: ['ready'],
      entry: 'tellConnected',
      initial: 'held',
      invoke: {
        id: 'watchServer',
        src: 'watchServer',
        input: referTo,
        onError: {
          target: 'losing',
          actions: { type: 'countFailure', params: { reason: 'the connection cannot be watched' } },
        },
      },
      after: { steady: { actions: 'forgetFailures' } },
      on: {
        'mcp.lost': {
          target: 'losing',
          actions: { type: 'countFailure', params: ({ event }) => ({ reason: event.reason }) },
        },
        'mcp.close': { target: 'closing' },
      },
      states: {
        held: {
          tags: ['accepting'],
          on: {
            'mcp.acquire': { actions: 'hold' },
            'mcp.release': [
              {
                guard: { type: 'isLastEvicting', params: evictOf },
                target: '#mcpServer.closing',
                actions: ['letGo', 'markEvicted'],
              },
              { guard: 'isLast', target: 'unused', actions: 'letGo' },
              {
                guard: { type: 'isEvicting', params: evictOf },
                target: 'leaving',
                actions: ['letGo', 'markEvicted'],
              },
              { actions: 'letGo' },
            ],
          },
        },
        unused: {
          tags: ['accepting'],
          after: { idle: { target: '#mcpServer.closing' } },
          on: { 'mcp.acquire': { target: 'held', actions: 'hold' } },
        },
        leaving: {
          on: {
            'mcp.release': [
              { guard: 'isLast', target: '#mcpServer.closing', actions: 'letGo' },
              { actions: 'letGo' },
            ],
          },
        },
      },
    },
    losing: {
      always: [{ guard: 'isUnheld', target: 'closing' }, { target: 'degraded' }],
    },
    degraded: {
      entry: 'tellDegraded',
      invoke: {
        id: 'discardServer',
        src: 'closeServer',
        input: referTo,
        onDone: {},
        onError: {},
      },
      after: {
        backoff: [
          { guard: 'isTired', target: 'deciding' },
          { guard: 'isEvicted', target: 'connecting.leaving' },
          { target: 'connecting' },
        ],
      },
      on: {
        'mcp.release': [
          { guard: 'isLast', target: 'closing', actions: 'letGo' },
          {
            guard: { type: 'isEvicting', params: evictOf },
            actions: ['letGo', 'markEvicted'],
          },
          { actions: 'letGo' },
        ],
        'mcp.close': { target: 'closing' },
      },
    },
    failed: {
      tags: ['failed'],
      entry: 'tellFailed',
      initial: 'resting',
      on: { 'mcp.close': { target: 'closing' } },
      states: {
        resting: {
          after: { backoff: { target: 'retryable' } },
          on: {
            'mcp.release': [
              {
                guard: { type: 'isLastEvicting', params: evictOf },
                target: '#mcpServer.closing',
                actions: 'letGo',
              },
              { actions: 'letGo' },
            ],
          },
        },
        retryable: {
          tags: ['accepting'],
          after: { idle: { guard: 'isUnheld', target: '#mcpServer.closing' } },
          on: {
            'mcp.acquire': { target: '#mcpServer.connecting', actions: 'hold' },
            'mcp.release': [
              {
                guard: { type: 'isLastEvicting', params: evictOf },
                target: '#mcpServer.closing',
                actions: 'letGo',
              },
              // Re-entered, so that the idle time counts from the last release.
              { target: 'retryable', reenter: true, actions: 'letGo' },
            ],
          },
        },
      },
    },
    closing: {
      tags: ['closing'],
      invoke: {
        id: 'closeServer',
        src: 'closeServer',
        input: referTo,
        onDone: { target: 'closed' },
        onError: { target: 'closed' },
      },
      after: { close: { target: 'closed' } },
    },
    closed: { type: 'final', entry: 'tellClosed' },
  },
  output: ({ context }) => ({
    connectionId: context.connectionId,
    serverName: context.serverName,
  }),
});

/** Only a failure that an adapter has mapped is shown: foreign messages may hold a secret. */
function toReason(error: unknown): string {
  const reason = (error as Partial<McpFailure> | undefined)?.reason;
  return typeof reason === 'string' && reason !== ''
    ? reason
    : 'the connect failed for a reason that is only in the log';
}
