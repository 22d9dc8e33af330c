import type { Mutant } from '../mutant.ts';

/** What of the charts' facts the journal keeps. */
export const FACTS_MUTANTS: readonly Mutant[] = [
  {
    name: 'fact-outcome-of-wrong-approval',
    core: true,
    says: 'the outcome is recorded at the oldest approval of the run',
    file: 'src/facts/approvals.ts',
    edits: [
      [
        '  const record = scope.approvals.get(decisionId);\n  if (record === undefined || record.outcome !== undefined) return;',
        '  const [record] = scope.approvals.values();\n  if (record === undefined) return;',
      ],
    ],
  },
  {
    name: 'fact-approval-completed-twice',
    says: 'the journal tells the end of an approval as often as it hears of it',
    file: 'src/facts/approvals.ts',
    edits: [
      [
        'if (record === undefined || record.outcome !== undefined) return;',
        'if (record === undefined) return;',
      ],
    ],
  },
  {
    name: 'fact-grant-before-durable',
    says: 'a grant counts though its approval may be lost',
    file: 'src/facts/approvals.ts',
    edits: [['  scope.journal.flushed().then(\n', '  Promise.resolve().then(\n']],
  },
  {
    name: 'fact-call-ended-twice',
    core: true,
    says: 'the journal tells the end of a call twice',
    file: 'src/facts/call-ended.ts',
    edits: [
      [
        'record === undefined || record.ended || record.client',
        'record === undefined || record.client',
      ],
    ],
  },
  {
    name: 'fact-abandoned-call-looks-cancelled',
    says: 'the model is told that a call did not happen that may have happened',
    file: 'src/facts/call-ended.ts',
    edits: [
      [
        '  if (!abandoned) return { success: false, text };\n',
        "  if (!abandoned || text !== '') return { success: false, text };\n",
      ],
    ],
  },
  {
    name: 'fact-signal-after-record',
    core: true,
    says: 'a stop is told before anything hears of it, or nothing hears of it at all',
    file: 'src/facts/run-facts.ts',
    edits: [
      [
        '  scope.abort(cause);\n  if (obligations === 0) return;\n',
        '  if (obligations === 0) return;\n',
      ],
    ],
  },
  {
    name: 'fact-lost-claim-kept',
    says: 'the record shows an observer that has left',
    file: 'src/facts/run-facts.ts',
    edits: [['  scope.claims.delete(observer.id);\n', '']],
  },
];
