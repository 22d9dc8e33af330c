import type { Mutant } from '../mutant.ts';

const shutdown = 'machines/shutdown.machine.ts';
const supervisor = 'machines/supervisor.machine.ts';
const pool = 'machines/pool.ts';
const orphan = 'machines/orphan.machine.ts';

/** The way out, who is let in, and what becomes of runs that lost their process. */
export const SHUTDOWN_MUTANTS: readonly Mutant[] = [
  {
    name: 'shutdown-drain-skipped',
    core: true,
    says: 'runs are aborted at the end of the grace without having been asked to stop',
    file: shutdown,
    edits: [
      ["after: { grace: { target: 'draining' } }", "after: { grace: { target: 'aborting' } }"],
    ],
  },
  {
    name: 'shutdown-second-signal-waits',
    core: true,
    says: 'a second signal does not hurry the process',
    file: shutdown,
    edits: [
      [
        "const secondSignal = {\n  target: 'aborting',",
        "const secondSignal = {\n  target: 'draining',",
      ],
    ],
  },
  {
    name: 'shutdown-abort-called-clean',
    core: true,
    says: 'a shutdown that had to abort something says that it was clean',
    file: shutdown,
    edits: [
      ["entry: ['markAborted', tell('shutdown.aborting')]", "entry: [tell('shutdown.aborting')]"],
    ],
  },
  {
    name: 'shutdown-drain-without-bound',
    says: 'a run that does not stop keeps the process for ever',
    file: shutdown,
    edits: [["      after: { drain: { target: 'aborting' } },\n", '']],
  },
  {
    name: 'shutdown-flush-without-bound',
    says: 'a store that hangs keeps the process for ever',
    file: shutdown,
    edits: [["      after: { flush: { target: 'stopped' } },\n", '']],
  },
  {
    name: 'shutdown-idle-waits-out-grace',
    says: 'a process with nothing in flight waits for the end of its grace',
    file: shutdown,
    edits: [
      [
        "entry: [tellGated],\n      always: { guard: 'isIdle', target: 'flushing' },",
        'entry: [tellGated],',
      ],
    ],
  },
  {
    name: 'supervisor-one-run-too-many',
    says: 'one more run is admitted than may live',
    file: supervisor,
    edits: [['context.live >= context.runsMax', 'context.live > context.runsMax']],
  },
  {
    name: 'supervisor-tenant-bound-ignored',
    says: 'one tenant may take all places',
    file: supervisor,
    edits: [['params.tenant.live >= params.tenant.max', 'params.tenant.live < 0']],
  },
  {
    name: 'supervisor-admits-while-gated',
    core: true,
    says: 'runs are admitted after the first signal',
    file: supervisor,
    edits: [
      [
        "'run.submit': { actions: [reject('draining')] },\n        'run.tell'",
        "'run.submit': { actions: [admit] },\n        'run.tell'",
      ],
    ],
  },
  {
    name: 'supervisor-request-end-not-told',
    says: 'shutdown waits for requests that are over',
    file: supervisor,
    edits: [["actions: ['dropRequest', tellLoad]", "actions: ['dropRequest']"]],
  },
  {
    name: 'supervisor-drain-asks-nobody',
    core: true,
    says: 'no run is asked to stop when the drain begins',
    file: supervisor,
    edits: [['          entry: [stopRuns],\n', '']],
  },
  {
    name: 'pool-child-not-reaped',
    core: true,
    says: 'a run that is over counts as live',
    file: pool,
    edits: [['if (!mapOf(snapshot).delete(id)) return;', 'if (!mapOf(snapshot).has(id)) return;']],
  },
  {
    name: 'pool-live-id-replaced',
    says: 'a second run takes the place of a live one with its id',
    file: pool,
    edits: [['  if (snapshot.actors.has(event.id)) return;\n', '']],
  },
  {
    name: 'orphan-stopped-run-comes-back',
    core: true,
    says: 'a run that was stopped before the crash is resumed after it',
    file: orphan,
    edits: [["        { guard: 'wasStopped', target: 'cancelled' },\n", '']],
  },
  {
    name: 'orphan-recovered-for-ever',
    core: true,
    says: 'a run that kills its process is brought back each time',
    file: orphan,
    edits: [
      [
        "context.recover === 'resume' && context.recoveries < context.recoveriesMax",
        "context.recover === 'resume'",
      ],
    ],
  },
  {
    name: 'orphan-resumed-without-checkpoint',
    says: 'a run is brought back from nothing',
    file: orphan,
    edits: [[' || !context.hasCheckpoint', '']],
  },
];
