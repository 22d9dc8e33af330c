import type { Mutant } from '../mutant.ts';

/** What the charts' ports really do. */
export const PORTS_MUTANTS: readonly Mutant[] = [
  {
    name: 'port-end-stored-twice',
    core: true,
    says: 'an end that was stored is stored again',
    file: 'src/ports/settle-run.ts',
    edits: [
      [
        'if (attempt === 1) return await storeEnd(scope, outcome, heardLast);',
        'if (attempt === 1) await storeEnd(scope, outcome, heardLast);',
      ],
    ],
  },
  {
    name: 'port-open-calls-not-closed',
    core: true,
    says: 'a run ends with calls that nobody told the end of',
    file: 'src/ports/settle-run.ts',
    edits: [['  if (isParked) return;\n', '  if (isParked || scope.calls.size > 0) return;\n']],
  },
  {
    name: 'port-digest-not-compared',
    core: true,
    says: 'a call runs with other arguments than those that were approved',
    file: 'src/ports/approved-call.ts',
    edits: [
      [
        '  if (argumentsDigest(args) !== record.request.argumentsDigest) return refused(DIFFERENT);\n',
        '',
      ],
    ],
  },
  {
    name: 'port-outcome-not-asked',
    says: 'the last look before an execution does not ask how the approval ended',
    file: 'src/ports/approved-call.ts',
    edits: [["  if (record.outcome?.kind !== 'approved') return refused(NOT_APPROVED);\n", '']],
  },
  {
    name: 'port-looser-gate-counts',
    says: 'of two names of a tool the laxer rule holds',
    file: 'src/ports/gate-of.ts',
    edits: [['RANK[other.effect] > RANK[one.effect]', 'RANK[other.effect] < RANK[one.effect]']],
  },
  {
    name: 'port-late-result-counts',
    core: true,
    says: 'the result of a tool that was abandoned is taken',
    file: 'src/ports/execute-tool.ts',
    edits: [
      [
        'if (execution.controller.signal.aborted) tellOrphanEnded(scope, record);\n  else record.result = result;',
        'if (execution.controller.signal.aborted) tellOrphanEnded(scope, record);\n  record.result = result;',
      ],
    ],
  },
  {
    name: 'port-executes-before-durable',
    says: 'a tool runs before the store has what was asked for',
    file: 'src/ports/execute-tool.ts',
    edits: [
      [
        '  await scope.journal.flushed();\n  execution',
        '  void scope.journal.flushed().catch(() => {});\n  execution',
      ],
    ],
  },
  {
    name: 'port-stop-signal-not-passed-on',
    says: 'a tool does not hear that its call is to stop',
    file: 'src/ports/execute-tool.ts',
    edits: [["    signal.addEventListener('abort', abort, { once: true });\n", '']],
  },
  {
    name: 'port-paused-clock-keeps-no-rest',
    says: 'a deadline that was suspended has its whole time again',
    file: 'src/ports/stopwatch.ts',
    edits: [
      [
        '    this.#remainingMs = this.remainingMs;\n',
        '    this.#remainingMs = this.#options.ms;\n',
      ],
    ],
  },
  {
    name: 'port-late-text-passed-on',
    core: true,
    says: 'text that comes after the stop is passed on',
    file: 'src/ports/turn-sink.ts',
    edits: [
      [
        'if (this.#signal.aborted || this.#scope.stop.signal.aborted) return false;',
        'if (this.#signal.aborted && this.#heard) return false;',
      ],
    ],
  },
  {
    name: 'port-no-checkpoint-after-turn',
    says: 'a turn that asked for calls leaves nothing to resume from',
    file: 'src/ports/stream-turn.ts',
    edits: [
      [
        '    this.#reportUsage(reported);\n    if (calls.length > 0) keepCheckpoint(this.#scope);\n',
        '    this.#reportUsage(reported);\n',
      ],
    ],
  },
  {
    name: 'desk-expired-decision-taken',
    core: true,
    says: 'a decision that a busy process reads late beats the expiry',
    file: 'src/hitl/approval-desk.ts',
    edits: [["    if (steadyNow(scope.clock) >= record.expiresAt) return 'unknown';\n", '']],
  },
  {
    name: 'desk-answers-before-durable',
    core: true,
    says: 'a decision is confirmed that a crash would lose',
    file: 'src/hitl/approval-desk.ts',
    edits: [
      [
        '      await scope.journal.flushed();\n',
        '      void scope.journal.flushed().catch(() => {});\n',
      ],
    ],
  },
  {
    name: 'desk-other-tenant-decides',
    says: 'any tenant decides what another one was asked',
    file: 'src/hitl/approval-desk.ts',
    edits: [['signed || owner === tenant;', "signed || owner === tenant || tenant !== '';"]],
  },
  {
    name: 'grant-covers-other-tools',
    says: 'an approval for the session covers every tool that the pattern holds',
    file: 'src/hitl/grants.ts',
    edits: [
      [
        'JSON.stringify([agent, toolName, matchedPattern]);',
        'JSON.stringify([agent, toolName.length > 0, matchedPattern]);',
      ],
    ],
  },
];
