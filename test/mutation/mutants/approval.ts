import type { Mutant } from '../mutant.ts';

const file = 'machines/approval.machine.ts';

/** One human decision. */
export const APPROVAL_MUTANTS: readonly Mutant[] = [
  {
    name: 'approval-takes-decision-of-another-id',
    core: true,
    says: 'a decision for another approval decides this one',
    file,
    edits: [['  if (decision.decisionId !== decisionId) return false;\n', '']],
  },
  {
    name: 'approval-webhook-decided-unsigned',
    core: true,
    says: 'what a webhook is asked for is decided by anybody',
    file,
    edits: [["return route === 'conversational' || decision.signed === true;", 'return true;']],
  },
  {
    name: 'approval-denial-approves',
    core: true,
    says: 'a denial ends in approved',
    file,
    edits: [
      [
        ') => isHis(context.request, params) && params.approved,',
        ') => isHis(context.request, params),',
      ],
      ["if (!approved) return { kind: 'denied', ...said };\n", ''],
    ],
  },
  {
    name: 'approval-never-expires',
    core: true,
    says: 'nobody has to decide in time',
    file,
    edits: [
      [
        'expiry: ({ context: { request } }) => request.timeoutMs,',
        'expiry: Number.POSITIVE_INFINITY,',
      ],
    ],
  },
  {
    name: 'approval-expiry-approves',
    says: 'silence is taken for consent',
    file,
    edits: [
      [
        "outcome: { kind: 'timed_out', waitedMs: request.timeoutMs } as const,",
        "outcome: { kind: request.timeoutMs > 0 ? 'approved' : 'denied' } as const,",
      ],
    ],
  },
  {
    name: 'approval-cancel-ignored',
    core: true,
    says: 'a cancelled approval stays open',
    file,
    edits: [["'approval.cancel': {\n          target: 'cancelled',", "'approval.cancel': {"]],
  },
  {
    name: 'approval-honoured-late',
    core: true,
    says: 'a decision that comes after the expiry still counts',
    file,
    edits: [
      [
        "{ target: 'timedOut', actions: [expire] },\n        ],",
        '{ actions: [expire] },\n        ],',
      ],
    ],
  },
  {
    name: 'approval-asked-again-after-resume',
    core: true,
    says: 'what was approved while its run was parked is asked again',
    file,
    edits: [["        { guard: 'wasApproved', target: 'approved' },\n", '']],
  },
  {
    name: 'approval-webhook-retries-hopeless',
    says: 'a webhook that has refused for good is asked again and again',
    file,
    edits: [
      [
        "params.answer.kind === 'failed' && params.answer.retryable",
        "params.answer.kind === 'failed'",
      ],
    ],
  },
  {
    name: 'approval-webhook-backoff-constant',
    says: 'a webhook that is down is asked at the same pace all the time',
    file,
    edits: [['BACKOFF_MS * 2 ** failures', 'BACKOFF_MS + failures']],
  },
  {
    name: 'approval-reminds-once',
    says: 'only one reminder comes however long it stays open',
    file,
    edits: [['                  reenter: true,\n', '']],
  },
  {
    name: 'approval-completed-twice',
    says: 'the end of a cancelled approval is told twice',
    file,
    edits: [
      [
        "cancelled: { type: 'final', entry: tellCompleted },",
        "cancelled: { type: 'final', entry: [tellCompleted, tellCompleted] },",
      ],
    ],
  },
];
