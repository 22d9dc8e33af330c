import type { Mutant } from '../mutant.ts';

const file = 'machines/session.machine.ts';

/** The order of one session's runs. */
export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    name: 'session-turn-given-while-busy',
    core: true,
    says: 'a queued run begins while another run of the session lives',
    file,
    edits: [['context.live.length === 0 && context.queue.length > 0', 'context.queue.length > 0']],
  },
  {
    name: 'session-turn-given-twice',
    core: true,
    says: 'a run that has begun stays in the queue and is given the session again',
    file,
    edits: [['queue: context.queue.slice(1) }', 'queue: context.queue }']],
  },
  {
    name: 'session-last-come-first-served',
    says: 'the newest of the waiting runs goes first',
    file,
    edits: [
      ['const [runId] = context.queue;', 'const runId = context.queue.at(-1);'],
      ['queue: context.queue.slice(1) }', 'queue: context.queue.slice(0, -1) }'],
    ],
  },
  {
    name: 'session-queue-one-too-long',
    says: 'one more run waits than may',
    file,
    edits: [
      ['context.queue.length >= context.queueMax', 'context.queue.length > context.queueMax'],
    ],
  },
  {
    name: 'session-interrupt-spares-waiting',
    core: true,
    says: 'an interrupt leaves the runs that wait in place',
    file,
    edits: [['[...context.live, ...others, ...context.queue]', '[...context.live, ...others]']],
  },
  {
    name: 'session-left-run-keeps-its-place',
    core: true,
    says: 'a waiting run that is gone holds up those behind it',
    file,
    edits: [
      [
        'queue: ({ context }, params) => context.queue.filter((runId) => runId !== params.runId),',
        'queue: ({ context }) => context.queue,',
      ],
    ],
  },
  {
    name: 'session-parallel-runs-unknown',
    says: 'an exclusive run begins beside parallel ones that live',
    file,
    edits: [
      [
        'context.live.length + context.queue.length + params.others.length',
        'context.live.length + context.queue.length + params.others.length * 0',
      ],
    ],
  },
];
