import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { approvalMachine, type PostAnswer } from '../../machines/approval.machine.ts';
import type { ApprovalOutcome, ApprovalRequest } from '../../machines/vocabulary.ts';
import { startDrive } from '../../src/testing/drive.ts';
import { APPROVAL, SHUTDOWN } from '../model/samples.ts';

const EXPIRY_MS = APPROVAL.timeoutMs;
const REMINDER_MS = 25_000;

type Stimulus =
  | { do: 'decide'; mine: boolean; approved: boolean; signed: boolean }
  | { do: 'answer'; answer: 'yes' | 'no' | 'busy' | 'broken' | 'crash'; jitter: number }
  | { do: 'cancel' }
  | { do: 'wait'; ms: number };

/** Weighted towards what leaves the approval open, so that several stimuli meet it. */
const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      mine: fc.constantFrom(false, false, false, true),
      approved: fc.boolean(),
      signed: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      answer: fc.constantFrom('busy', 'busy', 'busy', 'busy', 'yes', 'no', 'broken', 'crash'),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 400, 3_000, EXPIRY_MS / 3, EXPIRY_MS),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Stimulus>({ do: 'cancel' }) },
);

const request: fc.Arbitrary<ApprovalRequest> = fc
  .record({
    route: fc.constantFrom('conversational' as const, 'webhook' as const),
    reminderMs: fc.constantFrom(0, REMINDER_MS),
  })
  .map((fields) => ({ ...APPROVAL, ...fields }));

/** What must come of a history, told without the chart. Time goes by in milliseconds. */
class Expected {
  readonly #request: ApprovalRequest;
  nowMs = 0;
  outcome: ApprovalOutcome['kind'] | undefined;
  questions: number;
  retries = 0;
  reminders = 0;
  /** When it asks the webhook again; undefined while a question is out. */
  #againAt: number | undefined;

  constructor(asked: ApprovalRequest) {
    this.#request = asked;
    this.questions = asked.route === 'webhook' ? 1 : 0;
  }

  get #expiresAt(): number {
    return this.#request.timeoutMs;
  }

  get isAsking(): boolean {
    return this.#request.route === 'webhook' && this.#againAt === undefined && this.isOpen;
  }

  get isOpen(): boolean {
    return this.outcome === undefined;
  }

  take(s: Stimulus): void {
    if (!this.isOpen) return;
    if (s.do === 'wait') return this.#wait(this.nowMs + s.ms);
    if (s.do === 'cancel') this.outcome = 'cancelled';
    if (s.do === 'answer') this.#answer(s);
    if (s.do !== 'decide' || !s.mine) return;
    if (this.#request.route === 'webhook' && !s.signed) return;
    this.outcome = s.approved ? 'approved' : 'denied';
  }

  #answer({ answer, jitter }: Extract<Stimulus, { do: 'answer' }>): void {
    if (!this.isAsking) return;
    if (answer === 'yes') this.outcome = 'approved';
    if (answer === 'no') this.outcome = 'denied';
    if (answer === 'broken' || answer === 'crash') this.outcome = 'errored';
    if (answer !== 'busy') return;
    const longest = Math.min(30_000, 1_000 * 2 ** this.retries);
    this.retries += 1;
    this.#againAt = this.nowMs + Math.round(longest / 2 + (longest / 2) * jitter);
  }

  #wait(until: number): void {
    const end = Math.min(until, this.#expiresAt);
    // What is due with the expiry is told if its timer came first; nothing here is due with it.
    if (this.#againAt !== undefined && this.#againAt <= end) {
      this.#againAt = undefined;
      this.questions += 1;
    }
    const { reminderMs } = this.#request;
    if (reminderMs > 0) {
      this.reminders = Math.floor(Math.min(end, this.#expiresAt - 1) / reminderMs);
    }
    this.nowMs = until;
    if (until < this.#expiresAt) return;
    this.outcome = this.#againAt === undefined ? 'timed_out' : 'errored';
  }
}

function play(drive: Drive, s: Stimulus): Promise<void> | void {
  const { clock, ports } = drive;
  const question = ports.live('postApproval');
  switch (s.do) {
    case 'wait':
      return clock.advance(s.ms);
    case 'cancel':
      return drive.send({ type: 'approval.cancel', cause: SHUTDOWN });
    case 'decide': {
      const decisionId = s.mine ? APPROVAL.decisionId : 'decision-of-another';
      const { approved, signed } = s;
      return drive.send({ type: 'approval.decide', decisionId, approved, signed });
    }
    case 'answer':
      if (s.answer === 'crash') return question?.reject(new Error('bug'));
      return question?.resolve(answerOf(s));
  }
}

function answerOf({ answer, jitter }: Extract<Stimulus, { do: 'answer' }>): PostAnswer {
  if (answer === 'yes' || answer === 'no') {
    return { kind: 'decided', decision: { approved: answer === 'yes' } };
  }
  return { kind: 'failed', message: `it was ${answer}`, retryable: answer === 'busy', jitter };
}

const drive = (asked: ApprovalRequest) =>
  startDrive(approvalMachine, { input: { runId: 'run-1', request: asked } });

type Drive = ReturnType<typeof drive>;

const counts = ({ emitted, ports }: Drive) => ({
  questions: ports.calls.length,
  retries: emitted.filter(({ type }) => type === 'approval.retrying').length,
  reminders: emitted.filter(({ type }) => type === 'approval.reminded').length,
});

describe('approval chart: invariants under any history', () => {
  it('has one winner, fails closed, asks once at a time and ends (AP1 to AP5, AP7, AP8)', async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(request, fc.array(stimulus, { maxLength: 16 }), async (asked, history) => {
        const driven = drive(asked);
        const expected = new Expected(asked);
        for (const s of history) {
          await play(driven, s);
          expected.take(s);
          const { questions, retries, reminders, isAsking, outcome } = expected;
          expect(counts(driven)).toEqual({ questions, retries, reminders });
          expect(driven.ports.live('postApproval') !== undefined).toBe(isAsking);
          expect(driven.actor.getSnapshot().output?.kind).toBe(outcome);
        }
        await driven.clock.advance(EXPIRY_MS);
        expected.take({ do: 'wait', ms: EXPIRY_MS });
        const { outcome } = expected;
        reached.add(`${asked.route} ${outcome}`);
        expect(driven.actor.getSnapshot().output?.kind).toBe(outcome);
        expectTold(driven, asked, outcome);
        expect(driven.clock.pending).toEqual([]);
        expect(driven.ports.calls.filter(({ state }) => state === 'running')).toEqual([]);
      }),
      { numRuns: 600 },
    );
    const ends = ['approved', 'denied', 'timed_out', 'cancelled'];
    expect([...reached]).toEqual(
      expect.arrayContaining([
        ...ends.map((end) => `conversational ${end}`),
        ...[...ends, 'errored'].map((end) => `webhook ${end}`),
      ]),
    );
  });

  it('asks nobody for what was decided before or what a grant covers (AP5, AP6)', async () => {
    const decided = fc.constantFrom<ApprovalOutcome>(
      { kind: 'approved', by: 'key:anna' },
      { kind: 'denied', reason: 'no' },
      { kind: 'timed_out', waitedMs: EXPIRY_MS },
    );
    const known = fc.oneof(
      decided.map((outcome) => ({ decided: outcome })),
      fc.constant({ grantedBy: 'decision-0' }),
    );
    await fc.assert(
      fc.asyncProperty(request, known, fc.array(stimulus), async (asked, given, history) => {
        const driven = drive({ ...asked, ...given });
        for (const s of history) await play(driven, s);
        const types = driven.emitted.map(({ type }) => type);
        const isGrant = 'grantedBy' in given;
        expect(types).toEqual([...(isGrant ? ['approval.requested'] : []), 'approval.completed']);
        expect(driven.emitted.at(-1)).toMatchObject({
          outcome: isGrant ? { kind: 'approved', ...given } : given.decided,
        });
        expect(driven.ports.calls).toEqual([]);
        expect(driven.clock.pending).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

/** Asked for first, completed last and once; that it waits is told of one route alone. */
function expectTold({ emitted }: Drive, asked: ApprovalRequest, outcome: string | undefined): void {
  const between = new Set(['approval.reminded', 'approval.retrying']);
  expect(emitted.map(({ type }) => type).filter((type) => !between.has(type))).toEqual([
    'approval.requested',
    ...(asked.route === 'conversational' ? ['approval.pending'] : []),
    'approval.completed',
  ]);
  expect(emitted.at(-1)).toMatchObject({ outcome: { kind: outcome } });
}
