import { describe, expect, it } from 'vitest';
import type { KeptApproval, Obstacle } from '../../src/explain/facts.ts';
import type { ParkReason } from '../../src/journal/events.ts';
import { kept, links, START, Tale, waysBack } from './explain-kit.ts';

/** Where the run's chart is during a model turn, as its log has it. */
const TURNING = 'live.{work.begun.stepping.turning, parking.unasked}';

const parked = (reason: ParkReason) =>
  ({ type: 'parked', checkpoint: 'v1:run-1:4', reason }) as const;

const ASKED = 'A person was asked to approve the tool pay (approval d1)';

/** A run that was parked while a person was asked, ten seconds ago. */
const waiting = (): Tale =>
  new Tale({ liveness: { policy: 'park', grace_ms: 0 } })
    .started()
    .ask('d1', 'c1', 'pay')
    .ends(parked('shutdown'), 'supervisor')
    .wait(10_000);

describe('why a run is parked, and what brings it back', () => {
  it('parked unclaimed: leaving, decision, checkpoint', () => {
    const told = new Tale({ liveness: { policy: 'park', grace_ms: 0 } }).started().leave('park');
    const resumption = waysBack({ automatic: true, onStart: true });
    const why = told.ends(parked('unclaimed'), 'client').explain({ resumption });
    expect(links(why)).toEqual(['entry 2', 'entry 3', 'entry 4', 'entry 5']);
    expect(why.prose.slice(-2)).toEqual([
      'The run was parked at the checkpoint v1:run-1:4 after 0 ms and holds nothing in memory ' +
        '(seq 5).',
      'It goes on when the server starts next, or when a resume request asks for it.',
    ]);
  });

  it('parked by hand: the asking, and that only a resume request brings it back', () => {
    const told = new Tale().started();
    told.step({ from: TURNING, to: TURNING.replace('unasked', 'asked'), event: 'run.park' });
    const resumption = waysBack({ onStart: true });
    const why = told.ends(parked('external'), 'operator').explain({ resumption });
    expect(links(why)).toEqual(['transition', 'entry 2']);
    expect(why.prose.at(-2)).toContain('Somebody asked to park it');
    expect(why.prose.at(-1)).toBe('It goes on when a resume request asks for it, and not before.');
  });

  it('parked unclaimed where nothing is resumed at the start of the server', () => {
    const resumption = waysBack({ automatic: true });
    const told = new Tale().started().leave('park').ends(parked('unclaimed'), 'client');
    expect(told.explain({ resumption }).prose.at(-1)).toContain('and not before');
  });

  it('parked owner_lost: the last sign of life, once, and the log last and short', () => {
    const told = new Tale().started().ask('d1', 'c1', 'pay');
    const why = told.ends(parked('owner_lost'), 'supervisor', [4]).explain({
      transitions: undefined,
      approvals: [kept({ expiresAt: told.now + 60_000 })],
    });
    expect(links(why)).toEqual(['entry 4', 'timer', 'entry 5']);
    expect(why.prose[1]).toContain('the last that it told is the entry 4');
    expect(why.prose.filter((sentence) => sentence.includes('was lost'))).toHaveLength(1);
    expect(why.prose.at(-1)).toBe('The log of its transitions went with its process.');
  });

  it('resumed: the run that goes on with it', () => {
    const told = new Tale({ continued_by: 'run-2' }).started();
    const why = told.ends(parked('external'), 'operator').explain();
    expect(why.prose.at(-1)).toBe('The run run-2 goes on with it.');
  });

  it.each<[Obstacle, string]>([
    ['agent_not_served', 'this server does not serve the agent agent'],
    ['checkpoint_gone', 'its checkpoint is not kept any more'],
    ['checkpoint_unreadable', 'cannot read its checkpoint'],
    ['cancelled', 'cancelled after it had been parked'],
  ])('held by the obstacle %s: no promise that it goes on', (obstacle, words) => {
    const resumption = waysBack({ automatic: true, onStart: true, undecided: ['d1'], obstacle });
    const { prose } = waiting().explain({ resumption });
    expect(prose.at(-1)).toContain(words);
    expect(prose.join()).not.toContain('It goes on');
  });
});

describe('the approvals of a parked run', () => {
  const told = (change: Partial<KeptApproval>) =>
    waiting().explain({ approvals: [kept({ expiresAt: START + 70_000, ...change })] });

  it.each<[string, Partial<KeptApproval>, string]>([
    ['pending', {}, `${ASKED} and has not decided; without an answer it times out in 1 min`],
    [
      'approved',
      { outcome: { approved: true } },
      `${ASKED} and approved it after the run was parked`,
    ],
    [
      'denied',
      { outcome: { approved: false, reason: 'Too\nmuch' } },
      `${ASKED} and denied it after the run was parked, saying “Too much”, so the tool is not ` +
        'executed',
    ],
    [
      'approved',
      { outcome: { approved: true, by: 'key:ops' } },
      `${ASKED} and it was approved by whoever has the key “ops” after the run was parked`,
    ],
    [
      'denied',
      { outcome: { approved: false, by: 'signature:primary' } },
      `${ASKED} and it was denied by a decision that was signed with the primary secret after the ` +
        'run was parked, so the tool is not executed',
    ],
    [
      'timed_out',
      { expiresAt: START + 5_000 },
      `${ASKED} and nobody did; it timed out at 2027-01-15 08:00:05Z, so the tool is not executed`,
    ],
  ])('are told when %s', (state, change, sentence) => {
    const why = told(change);
    expect(why.prose[0]).toBe(`${sentence} (seq 4).`);
    expect(why.chain[0]?.detail).toMatchObject({ decision_id: 'd1', tool_name: 'pay', state });
  });

  it('were to bring it back when the last one timed out, and what does where that failed', () => {
    const approvals = [kept({ expiresAt: START + 5_000 })];
    const told = (automatic: boolean) =>
      waiting()
        .explain({ approvals, resumption: waysBack({ automatic }) })
        .prose.at(-1);
    expect(told(true)).toBe(
      'It was to go on by itself once nothing was left to decide. Where that failed, it goes on ' +
        'when a resume request asks for it.',
    );
    expect(told(false)).toBe('It goes on when a resume request asks for it, and not before.');
  });

  it('do not bring it back while one of them may be decided, whatever became of the others', () => {
    const approvals = [
      kept({ expiresAt: START + 5_000 }),
      kept({ decisionId: 'd2', expiresAt: START + 60_000 }),
    ];
    const resumption = waysBack({ automatic: true });
    expect(waiting().explain({ approvals, resumption }).prose.at(-1)).toContain('and not before');
  });

  it('bring it back by themselves while one may be decided', () => {
    const resumption = waysBack({ automatic: true, undecided: ['d1'] });
    const { prose } = waiting().explain({ resumption });
    expect(prose.at(-1)).toBe('It goes on by itself when d1 is decided or timed out.');
    const two = waysBack({ automatic: true, undecided: ['d1', 'd2'] });
    expect(waiting().explain({ resumption: two }).prose.at(-1)).toBe(
      'It goes on by itself when d1 and d2 are decided or timed out.',
    );
  });

  it('were to bring it back when all are decided, and what does where that failed', () => {
    const resumption = waysBack({ automatic: true, onStart: true, decided: true });
    expect(waiting().explain({ resumption }).prose.at(-1)).toBe(
      'It was to go on by itself once nothing was left to decide. Where that failed, it goes on ' +
        'when the server starts next, or when a resume request asks for it.',
    );
  });

  it('are told of after the run was resumed, too', () => {
    const approvals = [kept({ expiresAt: START + 70_000, outcome: { approved: true } })];
    const why = waiting().explain({ approvals, record: { continued_by: 'run-2' } });
    expect(why.prose[0]).toContain('and approved it');
    expect(why.prose.at(-1)).toBe('The run run-2 goes on with it.');
  });

  it('are told apart by their ids', () => {
    const two = new Tale().started().ask('d1', 'c1', 'pay').ask('d2', 'c2', 'pay');
    const why = two.ends(parked('shutdown'), 'supervisor').explain({
      approvals: ['d1', 'd2'].map((decisionId) => kept({ decisionId, expiresAt: START + 60_000 })),
    });
    expect(why.prose[0]).toContain('(approval d1)');
    expect(why.prose[1]).toContain('(approval d2)');
    expect(links(why)).toEqual(['entry 4', 'entry 7', 'entry 8']);
  });

  it('are told without an entry where a run before it asked', () => {
    const approvals = [kept({ expiresAt: START + 60_000 })];
    const why = new Tale()
      .started()
      .ends(parked('owner_lost'), 'supervisor')
      .explain({ approvals });
    expect(why.prose[0]).toContain(`${ASKED} and has not decided`);
    expect(links(why)[0]).toBe('obligation');
  });

  it('are counted where there are many', () => {
    const approvals = Array.from({ length: 6 }, (_, n) =>
      kept({ decisionId: `d${n}`, expiresAt: START + 60_000 }),
    );
    const why = new Tale().started().ends(parked('shutdown'), 'supervisor').explain({ approvals });
    expect(why.prose[4]).toBe('A person was asked to approve 2 further tool calls.');
  });

  it('are told as open then where nothing is kept of them', () => {
    expect(waiting().explain({ approvals: [] }).prose[0]).toBe(
      `${ASKED} and had not decided when it was parked (seq 4).`,
    );
  });

  it('are told as taken back where a webhook was asked', () => {
    const told = new Tale()
      .started()
      .asks({ route: 'webhook' })
      .decides({ kind: 'cancelled', reason: 'shutdown' });
    const why = told.ends(parked('shutdown'), 'supervisor').explain({ approvals: [] });
    expect(why.prose.join(' ')).toMatch(
      /whether the tool pay may run was taken back .*\(approval d1\).*; the run that goes on with it asks anew/,
    );
  });

  it('have to be decided or to time out before a resume request does anything', () => {
    const { prose } = waiting().explain({ resumption: waysBack({ undecided: ['d1'] }) });
    expect(prose.at(-1)).toBe(
      'A person must decide d1, or the time for that must pass; after that a resume request ' +
        'starts it again.',
    );
  });
});
