import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { liveApproval, liveCall, liveOf, living, links, START, Tale } from './explain-kit.ts';

type Asked = Extract<JournalEvent, { type: 'approval_requested' }>;
type Answered = Extract<JournalEvent, { type: 'approval_completed' }>;

const QUESTION = {
  origin: { kind: 'elicitation', server: 'files', message: 'Which\none?', schema: {} },
} as const;
const WEBHOOK = { route: 'webhook' } as const;

/** A run that finished after somebody was asked and that ended so. */
const ended = (
  asked: Partial<Asked>,
  outcome: Answered['outcome'],
  change: Partial<Answered> = {},
): Tale => new Tale().started().asks(asked).decides(outcome, change);

const sentence = (told: Tale) => told.ends({ type: 'finished' }, 'agent').explain().prose[1];

const APPROVED = { kind: 'approved' } as const;
const DENIED = { kind: 'denied' } as const;
const EDITED = { arguments: {}, arguments_digest: 'sha256:1' };

describe('how an approval ended', () => {
  it.each<[string, Tale, string]>([
    [
      'approved by nobody knows whom',
      ended({}, APPROVED),
      'The tool pay was approved by a person after 12 s (approval d1)',
    ],
    [
      'approved with a key, and a reason',
      ended({}, { ...APPROVED, reason: 'Go\non' }, { decided_by: 'key:ops' }),
      'The tool pay was approved by whoever has the key “ops” after 12 s, saying “Go on” (approval d1)',
    ],
    [
      'approved by the webhook',
      ended(WEBHOOK, APPROVED, { decided_by: 'webhook' }),
      'The tool pay was approved by the webhook after 12 s (approval d1)',
    ],
    [
      'approved by a name that a proxy gave',
      ended({}, APPROVED, { decided_by: 'Ada Lovelace' }),
      'The tool pay was approved by “Ada Lovelace” after 12 s (approval d1)',
    ],
    [
      'approved by a signed decision',
      ended(WEBHOOK, APPROVED, { decided_by: 'signature:secondary' }),
      'The tool pay was approved by a decision that was signed with the secondary secret after ' +
        '12 s (approval d1)',
    ],
    [
      'approved with other arguments and for the session',
      ended({}, APPROVED, { edited: EDITED, grant: 'session' }),
      'The tool pay was approved by a person after 12 s, who changed its arguments, for the rest ' +
        'of the session (approval d1)',
    ],
    [
      'approved by an earlier decision',
      ended({}, APPROVED, { granted_by: 'd0', duration_ms: 0 }),
      'The tool pay was approved without asking, because the approval d0 holds for the rest of the ' +
        'session (approval d1)',
    ],
    [
      'denied',
      ended({}, { ...DENIED, reason: 'Too much' }),
      'The tool pay was denied by a person after 12 s, saying “Too much” (approval d1)',
    ],
    [
      'timed out',
      ended({}, { kind: 'timed_out', waited_ms: 60_000 }),
      'Nobody decided on the tool pay within 1 min (approval d1)',
    ],
    [
      'not put to anybody',
      ended(WEBHOOK, { kind: 'errored', message: 'The webhook answered with status 503.' }),
      'The question whether the tool pay may run could not be put: The webhook answered with ' +
        'status 503 (approval d1)',
    ],
    [
      'of a question that was answered',
      ended(QUESTION, APPROVED, { content: {} }),
      'A question of the server files for the tool pay was answered by a person after 12 s ' +
        '(approval d1)',
    ],
    [
      'of a question that was declined',
      ended(QUESTION, DENIED),
      'A question of the server files for the tool pay was declined by a person after 12 s ' +
        '(approval d1)',
    ],
    [
      'of a question that nobody answered',
      ended(QUESTION, { kind: 'timed_out', waited_ms: 60_000 }),
      'Nobody answered the question of the server files for the tool pay within 1 min (approval d1)',
    ],
    [
      'of a question that its call did not wait for',
      ended(QUESTION, { kind: 'cancelled', reason: 'call_over' }),
      'The question of the server files for the tool pay was taken back after 12 s, because the ' +
        'call that asked it was over (approval d1)',
    ],
  ])('is told when %s', (_, told, text) => {
    expect(sentence(told)).toBe(`${text} (seq 3).`);
  });

  it.each([
    [true, '; the webhook was told that nobody waits for it any more'],
    [false, '; the webhook could not be told, so it may still show its question to somebody'],
  ])('is told with whether the webhook took the notice: %s', (notified, words) => {
    const told = ended(WEBHOOK, { kind: 'timed_out', waited_ms: 60_000 }).tell({
      type: 'approval_withdrawn',
      decision_id: 'd1',
      tool_call_id: 'c1',
      reason: 'timed_out',
      notified,
    });
    expect(sentence(told)).toBe(
      `Nobody decided on the tool pay within 1 min (approval d1)${words} (seq 3).`,
    );
  });

  it.each([
    [1, '1 reminder'],
    [3, '3 reminders'],
  ])('is told with how often somebody was reminded: %i', (times, words) => {
    const told = new Tale().started().asks();
    for (let n = 1; n <= times; n += 1) told.tell(reminder(n * 1_000));
    const text = sentence(told.tell(reminder(1, 'other')).decides(APPROVED));
    expect(text).toContain(`after 12 s, with ${words} (approval d1)`);
  });

  it('is in the chain with what a program wants to know', () => {
    const told = ended({}, APPROVED, { decided_by: 'key:ops', grant: 'session', edited: EDITED });
    const why = told.ends({ type: 'finished' }, 'agent').explain();
    expect(links(why)).toEqual(['entry 1', 'entry 3', 'entry 4']);
    expect(why.chain[1]?.detail).toEqual({
      type: 'approval_completed',
      decision_id: 'd1',
      tool_name: 'pay',
      outcome: 'approved',
      decided_by: 'key:ops',
      grant: 'session',
      edited: true,
    });
    // What the approver wrote into the arguments stays in the journal.
    expect(JSON.stringify(why)).not.toContain('sha256:1');
  });

  it('is told of the newest where there were many', () => {
    const told = new Tale().started();
    for (const id of ['d1', 'd2', 'd3', 'd4']) {
      told.asks({ decision_id: id }).decides(APPROVED, { decision_id: id });
    }
    const { prose } = told.ends({ type: 'finished' }, 'agent').explain();
    expect(prose.filter((text) => text.includes('was approved'))).toHaveLength(3);
    expect(prose.join()).not.toContain('approval d1)');
  });

  it('is told by the run that goes on, which knows only the call', () => {
    const told = new Tale().started().call('c1', 'pay').decides(APPROVED);
    expect(sentence(told)).toContain('The tool pay was approved by a person');
    expect(sentence(new Tale().started().decides(APPROVED))).toContain('The tool c1 was approved');
  });

  it('is told of a run that failed, too', () => {
    const error = { code: 'provider_error', message: 'no', retryable: false };
    const told = ended({}, DENIED).ends({ type: 'failed', error }, 'provider');
    expect(told.explain().prose[0]).toContain('The tool pay was denied');
  });

  it('is told once and after the stop that took it back', () => {
    const told = new Tale().started().asks(WEBHOOK).stopping('external', 1);
    told.decides({ kind: 'cancelled', reason: 'external' }).tell({
      type: 'approval_withdrawn',
      decision_id: 'd1',
      tool_call_id: 'c1',
      reason: 'external',
      notified: true,
    });
    const why = told.ends({ type: 'cancelled', reason: 'external' }, 'operator').explain();
    expect(links(why)).toEqual(['entry 3', 'entry 4', 'entry 6']);
    expect(why.prose[1]).toBe(
      'The question whether the tool pay may run was taken back after 12 s, because the run was ' +
        'stopped (approval d1); the webhook was told that nobody waits for it any more (seq 4).',
    );
  });

  it.each([
    [{ reason: 'deadline', which: 'total' } as const, 'because the total deadline of the run had'],
    [{ reason: 'error' } as const, 'because the run failed'],
  ])('is told with the cause %o', (cause, words) => {
    expect(sentence(ended({}, { kind: 'cancelled', ...cause }))).toContain(words);
  });
});

const reminder = (waited_ms: number, decision_id = 'd1'): JournalEvent => ({
  type: 'approval_reminder',
  decision_id,
  tool_name: 'pay',
  waited_ms,
  expires_at: '2027-01-15T08:00:00Z',
  tool_call_id: 'c1',
});

describe('an approval that waits', () => {
  const asked = { requestedAt: START, expiresAt: START + 300_000 };
  const waiting = (
    change: Parameters<typeof liveApproval>[0],
    told = living('waiting').started(),
  ) =>
    told
      .wait(60_000)
      .explain({ live: liveOf({ approvals: [liveApproval({ ...asked, ...change })] }) });

  const question = { server: 'files', message: 'Which one?' };
  const LIMIT = 'without an answer it times out in 4 min.';

  it.each<[string, Parameters<typeof liveApproval>[0], string]>([
    [
      'by a webhook',
      { ...asked, ...WEBHOOK },
      `A webhook must approve the tool pay (approval d1), asked 1 min ago; ${LIMIT}`,
    ],
    [
      'by a webhook that could not be asked',
      { ...asked, ...WEBHOOK, retry: { failures: 2, because: 'It answered with status 503.' } },
      'A webhook must approve the tool pay (approval d1); asking it failed 2 times (It answered ' +
        'with status 503), and it is asked again; if it cannot be asked within 4 min, the approval ' +
        'fails.',
    ],
    [
      'by a webhook that could not be asked once',
      { ...asked, ...WEBHOOK, retry: { failures: 1, because: 'no' } },
      'A webhook must approve the tool pay (approval d1); asking it failed once (no), and it is ' +
        'asked again; if it cannot be asked within 4 min, the approval fails.',
    ],
    [
      'for a server',
      { ...asked, question },
      'A person must answer the server files for its tool pay, which asks “Which one?” (approval ' +
        `d1), asked 1 min ago; ${LIMIT}`,
    ],
  ])('is told when it is asked %s', (_, change, text) => {
    expect(waiting(change).prose[0]).toBe(text);
  });

  it('is told with how often somebody was reminded', () => {
    const told = living('waiting').started().tell(reminder(1_000), reminder(2_000));
    expect(waiting(asked, told).prose[0]).toContain('asked 1 min ago, with 2 reminders since; ');
  });

  it.each([
    [WEBHOOK, 'a webhook must decide approval d1 (pay), asked 1 min ago'],
    [{}, 'a person must decide approval d1 (pay), asked 1 min ago'],
  ])('holds the run back: %o', (change, because) => {
    const chart = { chart: 'run', actor: 'run', states: [], tags: [], refusing: ['isNobodyAsked'] };
    const why = living('waiting')
      .started()
      .wait(60_000)
      .explain({
        live: liveOf({ charts: [chart], approvals: [liveApproval({ ...asked, ...change })] }),
      });
    expect(why.blocked_by).toEqual([
      { chart: 'run', guard: 'isNobodyAsked', event: null, because },
    ]);
  });

  it('holds the call back whose server asks, and a notice the call that is over', () => {
    const chart = (refusing: string) => ({
      ...{ chart: 'toolCall', actor: 'tool.c1', states: [], tags: [] },
      refusing: [refusing],
    });
    const blocked = (refusing: string, approvals = [liveApproval({ ...asked, question })]) =>
      living('waiting')
        .started()
        .explain({ live: liveOf({ charts: [chart(refusing)], approvals }) }).blocked_by;
    expect(blocked('isNobodyAsked')).toMatchObject([
      { because: 'whoever executes the call waits for somebody to decide approval d1' },
    ]);
    expect(blocked('isNobodyAsked', [liveApproval(asked)])).toEqual([]);
    expect(blocked('isQuiet')).toMatchObject([
      { because: 'a webhook that was asked is being told that nobody waits any more' },
    ]);
  });

  it.each([
    ['asking', 'asks a person while it runs, and has waited for 2 s'],
    ['closing', 'is over, and the webhook that was asked has been told of that for 2 s'],
  ] as const)('is told of a call that is %s', (state, words) => {
    const told = living('running').started().call('c1', 'slow_tool').wait(2_000);
    const call = liveCall({ since: told.now - 2_000, state });
    const why = told.explain({ live: liveOf({ calls: [call] }) });
    expect(why.prose.at(-1)).toBe(`The tool slow_tool (c1) ${words}.`);
  });

  it('is told as decided while its call is at work, and not for ever', () => {
    const told = living('running').started().asks().decides(APPROVED).call('c1', 'pay');
    const live = liveOf({ calls: [liveCall({ since: told.now, id: 'c1' })] });
    expect(told.explain({ live }).prose[0]).toContain('The tool pay was approved');
    told.answer('c1', 'pay').call('c2', 'other').answer('c2', 'other');
    expect(told.explain({ live: liveOf() }).prose.join()).not.toContain('was approved');
  });

  it('is told of a run that was stopped meanwhile, by who was asked', () => {
    const end = { type: 'cancelled', reason: 'deadline', which: 'total' } as const;
    const cut = (change: Partial<Asked>) =>
      new Tale().started().asks(change).stopping('deadline', 1, 'total').ends(end, 'supervisor');
    expect(cut(WEBHOOK).explain().prose[0]).toBe(
      'A webhook was asked to approve the tool pay (approval d1) and had not answered (seq 2).',
    );
    expect(cut(QUESTION).explain().prose[0]).toBe(
      'The server files asked for its tool pay: “Which one?” (approval d1) and had no answer (seq 2).',
    );
  });
});
