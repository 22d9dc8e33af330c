import type { AnyMachineSnapshot } from 'xstate';
import { supervisorMachine } from '../../machines/supervisor.machine.ts';
import { describeModel } from './model-suite.ts';
import { EXTERNAL, inShort, LIMITS } from './samples.ts';

/** What the supervisor reads of the shutdown chart's snapshots. */
const phase = (tag?: string) => ({ snapshot: { hasTag: (asked: string) => asked === tag } });

const ANYBODY = { live: 0, max: 0 };

const submit = {
  waits: false,
  tenant: ANYBODY,
  input: {
    runId: 'run-1',
    liveness: { policy: 'cancel', graceMs: 0 },
    limits: LIMITS,
    firstClaim: null,
  },
};

describeModel('supervisor', supervisorMachine, {
  'two places': {
    input: {
      runsMax: 2,
      queueMax: 3,
      shutdown: { graceMs: 30_000, drainMs: 5_000, abortMs: 2_000, flushMs: 3_000 },
      drainToolGraceMs: 4_000,
    },
    fact: inShort,
    key: ({ context: { live, requests } }: AnyMachineSnapshot) => [
      live > 0 && `live=${live}`,
      requests > 0 && `requests=${requests}`,
    ],
    shows: { shutdown: () => phase().snapshot },
    payloads: {
      'run.submit': {
        'a run': submit,
        'a run that waits': { ...submit, waits: true },
        'one too many of a tenant': { ...submit, tenant: { live: 3, max: 3 } },
      },
      'session.tell': {
        ask: {
          sessionKey: 's',
          event: { type: 'session.ask', runId: 'run-1', strategy: 'reject', others: [] },
        },
        left: { sessionKey: 's', event: { type: 'session.left', runId: 'run-1' } },
      },
      'run.tell': { stop: { runId: 'run-1', event: { type: 'run.stop', cause: EXTERNAL } } },
      'pool.changed': {
        'no run': { pool: 'runs', live: 0 },
        'two runs': { pool: 'runs', live: 2 },
        'a session': { pool: 'sessions', live: 5 },
        'a connection': { pool: 'mcpServers', live: 7 },
      },
      // One request shows all there is; more of them only count further.
      'request.begin': { first: ({ context }) => (context.requests === 0 ? {} : undefined) },
      'shutdown.signal': { term: { signal: 'SIGTERM' } },
      'xstate.snapshot.*': {},
      'xstate.snapshot.shutdown': {
        serving: phase(),
        gated: phase('gated'),
        draining: phase('draining'),
        aborting: phase('aborting'),
        flushing: phase('flushing'),
      },
      'xstate.done.actor.shutdown': {
        clean: { output: { cleanShutdown: true, unabortedTasks: false, second: null } },
      },
    },
  },
});
