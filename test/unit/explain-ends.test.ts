import { describe, expect, it } from 'vitest';
import { explainRun } from '../../src/explain/explain.ts';
import { links, Tale } from './explain-kit.ts';

/** Where the run's chart is during a model turn, as its log has it. */
const TURNING = 'live.{work.begun.stepping.turning, parking.unasked}';

describe('why a run finished', () => {
  it('finished: the prompt, and an answer that asks for no tool', () => {
    const told = new Tale().started().step({
      from: TURNING,
      to: 'settling',
      event: 'turn ended',
      refused: ['isExpired'],
    });
    const why = told
      .wait(2_400)
      .ends({ type: 'finished', finish_reason: 'stop' }, 'agent')
      .explain();
    expect(why.state).toBe('finished');
    expect(links(why)).toEqual(['entry 1', 'transition', 'entry 2']);
    expect(why.chain[1]).toMatchObject({
      text: 'The run turned from its work to its end on “turn ended”.',
      detail: { from: TURNING, to: 'settling' },
    });
    // A guard that only tells ways apart held nothing up.
    expect(why.blocked_by).toEqual([]);
    expect(why.prose).toEqual([
      'The run was started with a prompt for the agent agent (seq 1).',
      'The model answered and asked for no further tool, so the run finished after 2.4 s (seq 2).',
    ]);
  });

  it('finished after tools: what was called, and what failed of it', () => {
    const told = new Tale().started().call('c1', 'search').answer('c1', 'search');
    told.call('c2', 'fetch').answer('c2', 'fetch', false);
    const why = told.ends({ type: 'finished' }, 'agent').explain();
    expect(links(why)).toEqual(['entry 1', 'entry 7', 'entry 8']);
    expect(why.prose[1]).toBe(
      'The model made 2 tool calls (search and fetch); fetch (c2) failed (seq 7).',
    );
  });

  it.each([
    ['length', 'limit of tokens'],
    ['content_filter', 'content filter'],
  ] as const)('finished with an answer that is not whole, because of its %s', (reason, words) => {
    const why = new Tale()
      .started()
      .ends({ type: 'finished', finish_reason: reason }, 'agent')
      .explain();
    expect(why.prose.at(-1)).toContain(words);
  });

  it('finished as the continuation of a parked run', () => {
    const told = new Tale({ continues: 'run-0' }).started({ continues: 'run-0' });
    const why = told.ends({ type: 'finished' }, 'agent').explain();
    expect(links(why)).toEqual(['entry 1', 'entry 2']);
    expect(why.prose[0]).toBe('The run goes on with the run run-0, which had been parked (seq 1).');
  });
});

const failure = (code: string, message: string, retryable = false) => ({
  type: 'failed' as const,
  error: { code, message, retryable },
});

/** The model request of a turn comes to `to`. */
const attempt = (to: 'backingOff' | 'failed', from = 'calling.connecting') => ({
  chart: 'turn',
  actor: 'turn',
  event: 'turn.failed',
  from,
  to,
  ended: to === 'failed',
  refused: to === 'failed' ? ['mayRetry'] : [],
});

describe('the one reason for which a model request is not tried again', () => {
  const because = (told: Tale, error: object = {}, retryable = true): string | undefined => {
    const failed = failure('provider_error', 'Down.', retryable);
    const ending = { ...failed, error: { ...failed.error, ...error } };
    return told.ends(ending, 'provider').explain().blocked_by[0]?.because;
  };

  it('is that the failure is final', () => {
    const told = new Tale().started().step(attempt('failed'));
    expect(because(told, {}, false)).toBe('the failure is one that another try does not mend');
  });

  it('is that the answer had begun', () => {
    const told = new Tale().started().step(attempt('failed', 'calling.streaming'));
    expect(because(told)).toBe('the answer had begun, and another try would have doubled it');
  });

  it('is that the provider asked for a longer wait', () => {
    const told = new Tale().started().step(attempt('failed'));
    expect(because(told, { retry_after_ms: 45_000 })).toBe(
      'the provider asked to be left alone for 45 s, longer than a run waits',
    );
  });

  it('is that all tries are used, whatever the last one sent', () => {
    const told = new Tale().started().step(attempt('backingOff')).step(attempt('backingOff'));
    told.step(attempt('failed', 'calling.streaming'));
    expect(because(told)).toBe('all 3 tries were used');
  });

  it('is that this turn’s tries are used, whatever those before it needed', () => {
    const told = new Tale().started();
    for (let turn = 1; turn <= 2; turn += 1) {
      told.step({ chart: 'turn', actor: 'turn', from: null, to: 'calling.connecting' });
      told.step(attempt('backingOff')).step(attempt('backingOff'));
    }
    told.step(attempt('failed'));
    expect(because(told)).toBe('all 3 tries were used');
  });
});

describe('why a run failed', () => {
  it('failed by the provider: the tries, the guard that allowed no other, and the message', () => {
    const told = new Tale().started();
    told.step(attempt('backingOff')).step(attempt('backingOff')).step(attempt('failed'));
    const why = told
      .ends(failure('provider_error', 'The provider is down.', true), 'provider', [1])
      .explain();
    expect(links(why)).toEqual(['transition', 'transition', 'entry 2']);
    expect(why.prose).toEqual([
      'The model request failed and was tried again 2 times.',
      'The model request failed and was not tried again: all 3 tries were used.',
      'The model provider failed: The provider is down (provider_error), after 0 ms (seq 2).',
    ]);
    expect(why.blocked_by).toEqual([
      {
        chart: 'turn',
        guard: 'mayRetry',
        event: 'turn.failed',
        because: 'all 3 tries were used',
      },
    ]);
  });

  it('failed by the turn limit: the tools before it and the call that was one too many', () => {
    const told = new Tale().started().call('c1', 'search').answer('c1', 'search');
    told.tell({
      type: 'tool_requested',
      tool_id: 'c2',
      tool_name: 'search',
      arguments: {},
      arguments_text: '{}',
    });
    told.step({ from: TURNING, to: 'settling', event: 'turn ended', refused: ['hasTurnsLeft'] });
    told.answer('c2', 'search', false);
    const why = told.ends(failure('turn_limit', 'The limit.'), 'supervisor').explain();
    expect(links(why)).toEqual(['entry 4', 'entry 5', 'transition', 'entry 7']);
    expect(why.prose[1]).toContain('which was not begun any more');
    expect(why.prose.at(-1)).toContain('all the model turns that it may take');
    expect(why.blocked_by).toMatchObject([{ chart: 'run', guard: 'hasTurnsLeft' }]);
  });

  it('failed by the store: what was under way when it could not keep its record', () => {
    const told = new Tale().started().call('c1', 'search').stopping('error', 1);
    told.obligation('tool', 'c1', 'asked').obligation('tool', 'c1', 'confirmed', 3);
    const why = told.ends(failure('store_unavailable', 'No.', true), 'supervisor').explain();
    expect(links(why)).toEqual(['entry 3', 'entry 4', 'entry 7']);
    expect(why.prose[0]).toContain('The tool search (c1) had been begun and had no result');
    expect(why.prose[1]).toContain('the tool call c1 confirmed it within 3 ms');
    expect(why.prose.at(-1)).toContain('The store did not take the run’s entries');
  });

  it('failed by a fault of the server: what was under way, and that it is one', () => {
    const why = new Tale()
      .started()
      .ends(failure('internal_error', 'Crashed.'), 'supervisor', [1])
      .explain();
    expect(why.prose.at(-1)).toContain('a fault of the server');
  });
});

describe('an explanation of which parts are gone', () => {
  it('goes by the record when the journal was trimmed, and says so', () => {
    const told = new Tale().started().leave('cancel').stopping('unclaimed', 1);
    told.ends({ type: 'cancelled', reason: 'unclaimed' }, 'client');
    const facts = told.facts();
    const why = told.explain();
    told.entries.splice(0);
    const bare = told.explain({ record: facts.record });
    expect(bare.chain.map(({ seq }) => seq)).toEqual([6]);
    expect(bare.chain[0]?.text).toBe(why.chain.at(-1)?.text);
    expect(bare.prose.at(-1)).toBe(
      'The journal does not have its first entries any more; evidence was at seq 2, 3, 4 and 5.',
    );
  });

  it('says that there is no log of transitions', () => {
    const { transitions: _, ...rest } = new Tale()
      .started()
      .ends({ type: 'finished' }, 'agent')
      .facts();
    const { prose } = explainRun({ ...rest, transitions: undefined });
    expect(prose.at(-1)).toBe('No log of the run’s transitions was kept.');
  });
});
