import { describe, expect, it } from 'vitest';
import {
  DECISION,
  endOf,
  explanation,
  NEXT_RUN,
  ok,
  operatorWorld,
  page,
  RUN,
  runRecord,
  sessionRecord,
  type Answering,
} from './cli-operator-kit.ts';

/** Each command: what it asks of the server, and what it prints for a person. */

const printed = async (argv: readonly string[], answer: Answering, columns?: number) => {
  const world = operatorWorld(answer, columns === undefined ? {} : { columns });
  const code = await world.run(...argv);
  const asked = world.requests.map(({ method, path, body }) => ({ method, path, body }));
  return { code, asked, out: world.out(), err: world.err(), lines: world.out().split('\n') };
};

describe('runs ls', () => {
  it('prints a table with what the runs wait for and why they ended', async () => {
    const ended = { state: 'cancelled' as const, claims: [], deadlines: [] };
    const answer = () =>
      page([
        runRecord({ state: 'waiting', approvals: [DECISION, 'd2'] }),
        runRecord({
          ...ended,
          run_id: NEXT_RUN,
          end: endOf({ reason: 'deadline', which: 'step' }),
        }),
      ]);
    const { code, asked, lines } = await printed(['runs', 'ls'], answer);
    expect(code).toBe(0);
    expect(asked).toEqual([{ method: 'GET', path: '/v1/runs', body: undefined }]);
    expect(lines[0]).toMatch(/^RUN +STATE +AGENT +AGE +END +WAITING FOR +SESSION +CLAIMS$/);
    expect(lines[1]).toMatch(
      new RegExp(
        `^${RUN} +waiting +helper +1m +approval ${DECISION} and 1 more, total in 14m +chat-1 +1$`,
      ),
    );
    expect(lines[2]).toMatch(
      new RegExp(`^${NEXT_RUN} +cancelled +helper +1m +deadline step +chat-1 +0$`),
    );
    expect(lines).toHaveLength(4);
  });

  it('sends its filters to the server', async () => {
    const filters = ['--state', 'parked', '--session', 'a b&c', '--agent', 'x', '--limit', '7'];
    const { asked, out } = await printed(['runs', 'ls', ...filters], () => page([]));
    expect(asked[0]?.path).toBe('/v1/runs?state=parked&session_id=a+b%26c&agent=x&limit=7');
    expect(out).toBe('No runs.\n');
  });

  it('says that there are more', async () => {
    const { err } = await printed(['runs', 'ls'], () => page([runRecord()], 'c1'));
    expect(err).toContain('--all lists them');
  });

  it('follows the pages to the end with --all, and makes one document of them', async () => {
    const answer: Answering = ({ path }) =>
      path.includes('after=c2')
        ? page([runRecord({ run_id: 'r3' })])
        : path.includes('after=c1')
          ? page([runRecord({ run_id: 'r2' })], 'c2')
          : page([runRecord()], 'c1');
    const { asked, out, err } = await printed(['runs', 'ls', '--all', '--json'], answer);
    expect(asked.map(({ path }) => path)).toEqual([
      '/v1/runs?limit=200',
      '/v1/runs?limit=200&after=c1',
      '/v1/runs?limit=200&after=c2',
    ]);
    expect(JSON.parse(out)).toEqual({
      object: 'list',
      data: [runRecord(), runRecord({ run_id: 'r2' }), runRecord({ run_id: 'r3' })],
      next: null,
    });
    expect(err).toBe('');
  });

  it('is not led in a circle', async () => {
    const { code, asked } = await printed(['runs', 'ls', '--all'], () => page([], 'c1'));
    expect({ code, requests: asked.length }).toEqual({ code: 5, requests: 2 });
  });

  it('shows no session id that moves the cursor', async () => {
    const hostile = runRecord({ session_id: '\u001b]0;title\u0007', agent: 'a\nb' });
    const { out } = await printed(['runs', 'ls'], () => page([hostile]));
    expect(out).toContain('\\x1b]0;title\\x07');
    expect(out).toContain('a\\nb');
  });

  it('fits the terminal and keeps ids whole', async () => {
    const wide = runRecord({ session_id: '長い'.repeat(30), agent: '研究者'.repeat(9) });
    const { lines } = await printed(['runs', 'ls'], () => page([wide]), 80);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(lines[1]).toContain(RUN);
  });
});

describe('runs show', () => {
  it('prints the record in sections, with countdowns and what may be done', async () => {
    const { asked, out } = await printed(['runs', 'show', RUN], () =>
      ok(runRecord({ approvals: [DECISION], continues: NEXT_RUN })),
    );
    expect(asked[0]?.path).toBe(`/v1/runs/${RUN}`);
    for (const part of [
      `Run ${RUN}\n  state      running\n`,
      'liveness   continue, 10s of grace\n',
      'created    1969-12-31 23:59:00Z (1m ago)\n',
      'ended      -\n',
      'readers    1 with a claim, 2 without\n',
      `continues  ${NEXT_RUN}\n`,
      'Deadlines\n  total  14m left\n  step   4m left, suspended\n',
      `Waits for a person\n  approval  ${DECISION}\n`,
      'Open obligations\n  tool  call_1 (asked)\n',
      `  cancel  runwarden runs cancel ${RUN}\n  attach  runwarden runs watch ${RUN}\n`,
    ]) {
      expect(out).toContain(part);
    }
    expect(out).not.toContain('Ended\n');
  });

  it('says how a run ended', async () => {
    const error = { code: 'owner_lost', message: 'The process died.', retryable: true };
    const end = endOf({ reason: null, error });
    const { out } = await printed(['runs', 'show', RUN], () => ok(runRecord({ end })));
    expect(out).toContain('Ended\n  because   owner_lost\n  error     The process died.\n');
    expect(out).toContain('  evidence  entries 7, 8\n');
  });

  it('shows what a terminal would obey as text', async () => {
    const { out } = await printed(['runs', 'show', RUN], () =>
      ok(runRecord({ agent: 'a\u001bc' })),
    );
    expect(out).toContain('agent     a\\x1bc\n');
  });

  it('names an id with odd characters in one segment of the path', async () => {
    const { asked } = await printed(['sessions', 'show', 'a/../b?c'], () => ok(sessionRecord()));
    expect(asked[0]?.path).toBe('/v1/sessions/a%2F..%2Fb%3Fc');
  });
});

describe('what changes a run', () => {
  it('cancels with a message and tells the state', async () => {
    const { asked, out } = await printed(['runs', 'cancel', RUN, '--message', 'enough'], () =>
      ok(runRecord({ state: 'stopping' }), 202),
    );
    const path = `/v1/runs/${RUN}/cancel`;
    expect(asked).toEqual([{ method: 'POST', path, body: { message: 'enough' } }]);
    expect(out).toBe(`Run ${RUN} is stopping.\n`);
  });

  it('cancels without a body and waits for the end', async () => {
    const { asked, out } = await printed(['runs', 'cancel', RUN, '--wait'], () =>
      ok(runRecord({ state: 'cancelled', end: endOf() })),
    );
    expect(asked[0]).toMatchObject({ path: `/v1/runs/${RUN}/cancel?wait=true`, body: undefined });
    expect(out).toBe(`Run ${RUN} is cancelled (external).\n`);
  });

  it('says of a run that had done its work that it is finished', async () => {
    const end = endOf({ reason: null });
    const { out } = await printed(['runs', 'cancel', RUN], () =>
      ok(runRecord({ state: 'finished', end })),
    );
    expect(out).toBe(`Run ${RUN} is finished.\n`);
  });

  it('tells a parked run that was resumed from one that waits', async () => {
    const parked = { state: 'parked' as const, end: endOf({ reason: 'unclaimed' }) };
    const { lines } = await printed(['runs', 'ls'], () =>
      page([runRecord({ ...parked, continued_by: NEXT_RUN }), runRecord(parked)]),
    );
    expect(lines[1]).toContain(' unclaimed, resumed ');
    expect(lines[2]).toMatch(/ unclaimed {2,}/);
  });

  it('parks', async () => {
    const parking = await printed(['runs', 'park', RUN], () => ok(runRecord(), 202));
    expect(parking.asked).toEqual([
      { method: 'POST', path: `/v1/runs/${RUN}/park`, body: undefined },
    ]);
    expect(parking.out).toBe(`Run ${RUN} is running; it parks at its next checkpoint.\n`);
    const parked = await printed(['runs', 'park', RUN], () => ok(runRecord({ state: 'parked' })));
    expect(parked.out).toContain(`is parked; "runwarden runs resume ${RUN}"`);
  });

  it('resumes and names the new run', async () => {
    const { asked, out } = await printed(['runs', 'resume', RUN], () =>
      ok({ run_id: NEXT_RUN, continues: RUN }, 202),
    );
    expect(asked[0]).toMatchObject({ method: 'POST', path: `/v1/runs/${RUN}/resume` });
    expect(out).toContain(`Run ${NEXT_RUN} goes on with run ${RUN}.\n`);
    expect(out).toContain(`runwarden runs watch ${NEXT_RUN}`);
  });
});

describe('sessions', () => {
  it('lists them', async () => {
    const { asked, lines } = await printed(['sessions', 'ls', '--limit', '5'], () =>
      page([sessionRecord()]),
    );
    expect(asked[0]?.path).toBe('/v1/sessions?limit=5');
    expect(lines[1]).toMatch(new RegExp(`^chat-1 +running +3 +1 +1h +42 +${RUN}$`));
  });

  it('shows one', async () => {
    const { out } = await printed(['sessions', 'show', 'chat-1'], () => ok(sessionRecord()));
    expect(out).toContain('Session chat-1\n  state     running\n');
    expect(out).toContain(`Live runs\n  run  ${RUN}\n`);
  });
});

describe('explain', () => {
  it('prints the sentences, what holds the run back, and the evidence', async () => {
    const { asked, out } = await printed(['explain', RUN], () => ok(explanation()));
    expect(asked[0]?.path).toBe(`/v1/runs/${RUN}/explain`);
    expect(out).toBe(
      `Run ${RUN} is waiting.
The model asked for delete_file (seq 5).
A person must decide.

Held back by
  turn.areCallsDone  one call waits (on call.ended)

Evidence
  00:00:00Z entry 5  tool_requested delete_file
`,
    );
  });

  it('prints the sentences alone when there is nothing else', async () => {
    const { out } = await printed(['explain', RUN], () =>
      ok(explanation({ chain: [], blocked_by: [], prose: ['It is done.'] })),
    );
    expect(out).toBe(`Run ${RUN} is waiting.\nIt is done.\n`);
  });
});

describe('--json', () => {
  const odd = '{"run_id":  "r1",\n "big": 12345678901234567890, "text":"a\u009b31mb" }';
  const answer = () => new Response(odd);

  it.each([
    [['runs', 'ls']],
    [['runs', 'show', RUN]],
    [['runs', 'cancel', RUN]],
    [['runs', 'park', RUN]],
    [['runs', 'resume', RUN]],
    [['sessions', 'show', 's']],
    [['explain', RUN]],
  ])('of %j is what the server sent, to the byte', async (argv) => {
    const list = '{"object":"list", "data":[],"next":null}';
    const sent = argv.includes('ls') ? list : odd;
    const { code, out } = await printed([...argv, '--json'], () => new Response(sent));
    expect({ code, out }).toEqual({ code: 0, out: `${sent}\n` });
  });

  it('is the same value on a terminal, without what that would obey', async () => {
    const { out } = await printed(['runs', 'show', RUN, '--json'], answer, 80);
    expect(out).toContain('a\\u009b31mb');
    expect(JSON.parse(out)).toEqual(JSON.parse(odd));
  });
});
