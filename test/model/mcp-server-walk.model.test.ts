import type { AnyMachineSnapshot } from 'xstate';
import { mcpServerMachine } from '../../machines/mcp-server.machine.ts';
import { describeModel } from './model-suite.ts';
import { limits } from './mcp-server-drive.ts';
import { inShort } from './samples.ts';

const FAILURES_MAX = 2;

const bug = { error: new Error('bug') };

/** Every state and edge; what the chart promises is in `mcp-server.model.test.ts`. */
describeModel('mcp-server', mcpServerMachine, {
  'up to three holders': {
    input: {
      connectionId: 'c1',
      serverName: 'web',
      limits: { ...limits, failuresMax: FAILURES_MAX },
    },
    fact: inShort,
    // More failures than the chart bears only lengthen a backoff that is capped.
    key: ({ context: { held, evicted, failures } }: AnyMachineSnapshot) => [
      held > 0 && `held by ${held}`,
      evicted && 'evicted',
      failures > 0 && `failures ${Math.min(failures, FAILURES_MAX)}`,
    ],
    payloads: {
      'mcp.acquire': { '': ({ context }) => (context.held < 3 ? { holder: 'h' } : undefined) },
      'mcp.release': {
        '': { holder: 'h', evict: false },
        evicting: { holder: 'h', evict: true },
      },
      'mcp.lost': { '': { reason: 'it died' } },
      'xstate.done.actor.connectServer': { '': { output: { toolsCount: 7 } } },
      'xstate.error.actor.connectServer': { refused: { error: { reason: 'it refused' } }, bug },
      'xstate.error.actor.watchServer': { bug },
      'xstate.error.actor.closeServer': { bug },
      'xstate.error.actor.discardServer': { bug },
    },
  },
});
