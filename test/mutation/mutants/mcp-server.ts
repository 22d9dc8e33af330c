import type { Mutant } from '../mutant.ts';

const file = 'machines/mcp-server.machine.ts';

/** One pooled connection and its leases. */
export const MCP_SERVER_MUTANTS: readonly Mutant[] = [
  {
    name: 'mcp-lease-counted-twice',
    core: true,
    says: 'an acquire counts twice, so that the connection is never given up',
    file,
    edits: [
      [
        'hold: assign({ held: ({ context }) => context.held + 1 })',
        'hold: assign({ held: ({ context }) => context.held + 2 })',
      ],
    ],
  },
  {
    name: 'mcp-backoff-not-reset',
    core: true,
    says: 'a connection that has been steady is still held to its old failures',
    file,
    edits: [["      after: { steady: { actions: 'forgetFailures' } },\n", '']],
  },
  {
    name: 'mcp-connect-without-bound',
    says: 'a server that does not answer is connected to for ever',
    file,
    edits: [
      ['connect: ({ context }) => context.limits.connectMs,', 'connect: Number.POSITIVE_INFINITY,'],
    ],
  },
  {
    name: 'mcp-evicted-lets-in',
    core: true,
    says: 'a connection that was evicted while it connected is given to others',
    file,
    edits: [["            target: 'ready.leaving',", "            target: 'ready.held',"]],
  },
  {
    name: 'mcp-rebuilt-without-bound',
    says: 'a connection that is lost each time is rebuilt for ever',
    file,
    edits: [['context.failures >= context.limits.failuresMax', 'context.failures < 0']],
  },
  {
    name: 'mcp-unused-never-closed',
    says: 'a connection that nobody holds stays open',
    file,
    edits: [["          after: { idle: { target: '#mcpServer.closing' } },\n", '']],
  },
];
