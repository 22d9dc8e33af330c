import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromPromise } from 'xstate';
import {
  type ApprovalRef,
  approvalMachine,
  type PostAnswer,
} from '../../machines/approval.machine.ts';
import type { ToolCallEmitted } from '../../machines/tool-call.contract.ts';
import { toolCallMachine } from '../../machines/tool-call.machine.ts';
import type { ApprovalRequest } from '../../machines/vocabulary.ts';
import { startDrive } from '../../src/testing/drive.ts';
import type { PortCall } from '../../src/testing/ports.ts';
import { APPROVAL, EXTERNAL, toolCall } from '../model/samples.ts';
import { TOOL_MS, ToolCallBook } from '../support/tool-call-book.ts';

const GRACE_MS = 5_000;
const NOTICE_MS = 5_000;

type Plain = 'begin' | 'stop' | 'notice' | 'crash' | 'stopped';

type Stimulus =
  | { [Do in Plain]: { do: Do } }[Plain]
  | { do: 'decide'; approved: boolean; nth: number; signed: boolean }
  | { do: 'hook'; answer: 'yes' | 'no' | 'broken' }
  | { do: 'ask'; nth: number }
  | { do: 'withdrawn'; how: 'taken' | 'refused' | 'crash' }
  | { do: 'return'; isError: boolean }
  | { do: 'wait'; ms: number };

/** Weighted towards beginning, deciding and asking; a tool that returns early shows little. */
const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Stimulus>({ do: 'begin' }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      approved: fc.constantFrom(true, true, true, false),
      nth: fc.nat(3),
      signed: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('hook' as const),
      answer: fc.constantFrom('yes' as const, 'yes' as const, 'no' as const, 'broken' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), nth: fc.nat(2) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('withdrawn' as const),
      how: fc.constantFrom(
        'taken' as const,
        'taken' as const,
        'refused' as const,
        'crash' as const,
      ),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Stimulus>({ do: 'stop' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, GRACE_MS, TOOL_MS, APPROVAL.timeoutMs),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('return' as const), isError: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Stimulus>({ do: 'notice' }, { do: 'crash' }, { do: 'stopped' }),
  },
);

const kinds = fc.record({
  gated: fc.boolean(),
  mcp: fc.boolean(),
  forbidden: fc.constantFrom(false, false, false, true),
  route: fc.constantFrom('conversational' as const, 'webhook' as const),
});

type Kind = typeof kinds extends fc.Arbitrary<infer Value> ? Value : never;

/** The gate's own approval is the first one, those of the executor come after it. */
const requestOf = (nth: number, { route }: Kind): ApprovalRequest => ({
  ...APPROVAL,
  decisionId: nth === 0 ? APPROVAL.decisionId : `question-${nth}`,
  route,
});

/** A tool call with real approvals, whose webhook and everything else is the test's. */
class PlayedCall {
  readonly kind: Kind;
  readonly drive;
  readonly book: ToolCallBook;
  /** Questions to the webhook that are out, by decision id. */
  readonly #questions = new Map<string, (answer: PostAnswer) => void>();
  /** What became of each notice, by decision id. */
  readonly notified = new Map<string, boolean>();

  constructor(kind: Kind) {
    this.kind = kind;
    this.book = new ToolCallBook(kind);
    const call = toolCall('call-1', {
      timeoutMs: TOOL_MS,
      executor: kind.mcp ? 'mcp' : 'local',
      ...(kind.gated && { approval: requestOf(0, kind) }),
      ...(kind.forbidden && { forbiddenBy: 'delete_*' }),
    });
    const input = { runId: 'run-1', call, stopGraceMs: GRACE_MS };
    this.drive = startDrive(this.#machine(), { input, real: ['approval'] });
  }

  #machine() {
    const postApproval = fromPromise<PostAnswer, ApprovalRef>(
      ({ input: { decisionId } }) =>
        new Promise((resolve) => void this.#questions.set(decisionId, resolve)),
    );
    return toolCallMachine.provide({
      actors: { approval: approvalMachine.provide({ actors: { postApproval } }) },
    });
  }

  all(src: 'executeTool' | 'withdrawApproval'): readonly PortCall[] {
    return this.drive.ports.calls.filter((call) => call.src === src);
  }

  get facts(): readonly ToolCallEmitted[] {
    return this.drive.emitted as ToolCallEmitted[]; // They are typed for any chart.
  }

  async play(s: Stimulus): Promise<void> {
    const { drive, book } = this;
    switch (s.do) {
      case 'begin':
        drive.send({ type: 'toolCall.begin' });
        return book.begin();
      case 'wait':
        await drive.clock.advance(s.ms);
        return book.wait(s.ms);
      case 'decide':
        return this.#decide(s);
      case 'hook':
        return await this.#hook(s.answer);
      case 'ask': {
        const request = requestOf(s.nth + 1, this.kind);
        // Ids of decisions are minted once.
        if (book.asked.has(request.decisionId)) return;
        drive.send({ type: 'toolCall.ask', request });
        return book.ask(request.decisionId);
      }
      case 'stop':
        drive.send({ type: 'toolCall.stop', cause: EXTERNAL });
        return book.stop();
      case 'withdrawn':
        return this.#withdrawn(s.how);
      default:
        return this.#endWork(s);
    }
  }

  #decide({ approved, nth, signed }: Extract<Stimulus, { do: 'decide' }>): void {
    const { decisionId, route } = requestOf(nth, this.kind);
    this.drive.send({ type: 'approval.decide', decisionId, approved, signed });
    if (route === 'conversational' || signed) this.book.decide(decisionId, approved);
  }

  /** Answers the oldest question that somebody still asks. */
  async #hook(answer: 'yes' | 'no' | 'broken'): Promise<void> {
    const [id] = [...this.#questions.keys()].filter((asked) => this.book.open.has(asked));
    if (id === undefined) return;
    const broken = { kind: 'failed', message: 'no', retryable: false, jitter: 0 } as const;
    const decided = { kind: 'decided', decision: { approved: answer === 'yes' } } as const;
    this.#questions.get(id)?.(answer === 'broken' ? broken : decided);
    await this.drive.clock.settle();
    if (answer === 'broken') this.book.fail(id);
    else this.book.answer(id, answer === 'yes');
  }

  #withdrawn(how: 'taken' | 'refused' | 'crash'): void {
    const notice = this.all('withdrawApproval').find(({ state }) => state === 'running');
    if (notice === undefined) return;
    const { decisionId } = notice.input as { decisionId: string };
    this.notified.set(decisionId, how === 'taken');
    if (how === 'crash') notice.reject(new Error('bug'));
    else notice.resolve(how === 'taken');
  }

  #endWork(s: Extract<Stimulus, { do: 'return' | 'crash' | 'stopped' | 'notice' }>): void {
    const { ports } = this.drive;
    if (s.do === 'stopped') return ports.live('awaitToolStop')?.resolve();
    if (s.do === 'notice') return ports.live('awaitStopNotice')?.resolve();
    const execution = ports.live('executeTool');
    if (execution === undefined) return;
    if (s.do === 'crash') execution.reject(new Error('bug'));
    else execution.resolve({ isError: s.isError });
    this.book.end();
  }
}

describe('tool call chart: invariants under any history', () => {
  it('runs once, after its gate, ends once and leaves nobody asked (TC1 to TC8)', async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        kinds,
        fc.array(stimulus, { maxLength: 20, size: 'max' }),
        async (kind, history) => {
          const call = new PlayedCall(kind);
          const { drive, book } = call;
          for (const s of history) {
            await call.play(s);
            assertAsExpected(call);
          }
          await call.play({ do: 'stop' });
          await drive.clock.advance(GRACE_MS + NOTICE_MS);
          assertAsExpected(call);
          assertEnd(call);
          for (const id of book.owed)
            reached.add(`owed ${id === APPROVAL.decisionId ? 'gate' : 'question'}`);
          for (const taken of call.notified.values()) reached.add(`notified ${taken}`);
          expect(drive.clock.pending).toEqual([]);
          expect(drive.ports.calls.filter(({ state }) => state === 'running')).toEqual([]);
        },
      ),
      { numRuns: 800 },
    );
    expect([...reached]).toEqual(
      expect.arrayContaining(['owed gate', 'owed question', 'notified true', 'notified false']),
    );
  });

  it('does not count the wait for a person against the tool (TC5)', async () => {
    const input = {
      runId: 'run-1',
      call: toolCall('call-1', { timeoutMs: TOOL_MS, approval: APPROVAL }),
      stopGraceMs: GRACE_MS,
    };
    const { actor, clock, ports } = startDrive(toolCallMachine, { input, real: ['approval'] });
    actor.send({ type: 'toolCall.begin' });
    await clock.advance(TOOL_MS * 2);
    actor.send({ type: 'approval.decide', decisionId: APPROVAL.decisionId, approved: true });
    await clock.advance(TOOL_MS - 1);
    expect(ports.live('executeTool')).toBeDefined();
    await clock.advance(1);
    expect(ports.live('awaitToolStop')).toBeDefined();
  });

  it('ends whatever becomes of its notices, within their bound (TC8)', async () => {
    const approval = { ...APPROVAL, route: 'webhook' as const };
    const call = toolCall('call-1', { approval });
    const input = { runId: 'run-1', call, stopGraceMs: GRACE_MS };
    // Nobody provides the webhook, so the question fails at once.
    const { actor, clock, emitted } = startDrive(toolCallMachine, { input, real: ['approval'] });
    actor.send({ type: 'toolCall.begin' });
    await clock.advance(NOTICE_MS - 1);
    expect(actor.getSnapshot().hasTag('closing')).toBe(true);
    await clock.advance(1);
    expect(emitted.slice(-2)).toMatchObject([
      { type: 'approval.withdrawn', withdrawal: { reason: 'errored' }, notified: false },
      { type: 'toolCall.ended', status: 'failed' },
    ]);
  });
});

/** What holds after every event. */
function assertAsExpected(call: PlayedCall): void {
  const { drive, book } = call;
  const snapshot = drive.actor.getSnapshot();
  expect(call.all('executeTool').length).toBe(book.executions);
  expect(snapshot.hasTag('gated')).toBe(book.phase === 'gated');
  expect(drive.ports.live('executeTool') !== undefined).toBe(book.phase === 'running');
  expect(snapshot.hasTag('input-required')).toBe(book.open.size > 0);
  const told = call.all('withdrawApproval').map(({ input }) => decisionIdOf(input));
  expect(told.toSorted()).toEqual(book.owed.toSorted());
}

const decisionIdOf = (input: unknown): string => (input as { decisionId: string }).decisionId;

function assertEnd({ facts, drive, book, notified }: PlayedCall): void {
  const status = drive.actor.getSnapshot().output?.status;
  const ends = facts.filter((fact) => fact.type === 'toolCall.ended');
  expect(ends).toMatchObject([{ status }]);
  expect(facts.at(-1)?.type).toBe('toolCall.ended');
  if (ends[0]?.abandoned) expect(status).toMatch(/^(unknown|timed_out)$/);
  const asked = obligations(facts, ['obligation.asked']);
  const answered = obligations(facts, ['obligation.confirmed', 'obligation.abandoned']);
  expect(answered).toEqual(asked);
  expect(new Set(asked).size).toBe(asked.length);
  const withdrawn = facts.filter((fact) => fact.type === 'approval.withdrawn');
  expect(withdrawn.map(({ withdrawal }) => withdrawal.decisionId).toSorted()).toEqual(
    book.owed.toSorted(),
  );
  for (const { withdrawal, notified: isTold } of withdrawn) {
    expect(isTold).toBe(notified.get(withdrawal.decisionId) ?? false);
  }
}

const obligations = (facts: readonly ToolCallEmitted[], types: readonly string[]): string[] =>
  facts
    .flatMap((fact) => (types.includes(fact.type) && 'obligation' in fact ? [fact.obligation] : []))
    .map(({ what, id }) => `${what} ${id}`)
    .sort();
