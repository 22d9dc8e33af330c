import { describe, expect, it } from 'vitest';
import {
  DECISION,
  NEXT_RUN,
  operatorWorld,
  page,
  refusal,
  RUN,
  runRecord,
  until,
} from './cli-operator-kit.ts';

/** Hazard: a script cannot tell a run that is not there from a server that is not there. */

const show = ['runs', 'show', RUN];

describe('exit codes of the operators commands', () => {
  it.each([
    [400, 'invalid_request_error', 1],
    [401, 'unauthorized', 6],
    [403, 'forbidden', 6],
    [404, 'not_found', 3],
    [409, 'not_parked', 4],
    [422, 'policy_unsupported', 1],
    [429, 'rate_limited', 1],
    [500, 'internal_error', 1],
    [503, 'store_unavailable', 1],
  ])('for %i %s is %#: %i', async (status, code, exitCode) => {
    const world = operatorWorld(() => refusal(status, { message: 'No.', type: code, code }));
    expect(await world.run(...show)).toBe(exitCode);
    expect(world.err()).toMatch(new RegExp(`^error: No\\. \\(${code}\\)`));
    expect(world.out()).toBe('');
  });

  it('takes the type of a refusal that has no code', async () => {
    const error = { message: 'Server is shutting down', type: 'service_unavailable' };
    const world = operatorWorld(() => refusal(503, error, { 'retry-after': '5' }));
    expect(await world.run(...show)).toBe(1);
    expect(world.err()).toBe(
      'error: Server is shutting down (service_unavailable) Try again in 5 s.\n',
    );
  });

  it.each([
    ['a page of HTML', () => new Response('<html>', { status: 200 }), 'what is no JSON'],
    ['a refusal of another server', () => new Response('no', { status: 404 }), 'answered 404'],
    ['JSON of another kind', () => Response.json({ hello: 1 }), 'run_id: Invalid input'],
    ['a record with a wrong field', () => Response.json({ ...runRecord(), claims: 3 }), 'claims:'],
  ])('is 5 for %s', async (_, answer, message) => {
    const world = operatorWorld(answer);
    expect(await world.run(...show)).toBe(5);
    expect(world.err()).toContain(message);
  });

  it.each([
    ['ECONNREFUSED', 'No server listens at http://127.0.0.1:8080. Start one'],
    ['ENOTFOUND', 'The host of http://127.0.0.1:8080 is not known. Check --url'],
    ['ECONNRESET', 'cannot be reached (ECONNRESET)'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)'],
  ])('is 5 for %s, with the remedy', async (code, message) => {
    const cause = Object.assign(new Error('socket'), { code });
    const world = operatorWorld(() => Promise.reject(new TypeError('fetch failed', { cause })));
    expect(await world.run(...show)).toBe(5);
    expect(world.err()).toContain(message);
  });

  it('is 5 when no answer comes in time', async () => {
    const stuck = operatorWorld(() => page([]), { fetch: neverAnswering });
    const code = stuck.run(...show);
    await until(() => stuck.clock.pending.length > 0);
    await stuck.clock.advance(30_000);
    expect(await code).toBe(5);
    expect(stuck.err()).toContain('did not answer within 30 s');
  });

  it('leaves a run that ends all the time it needs', async () => {
    const world = operatorWorld(() => page([]), { fetch: neverAnswering });
    const code = world.run('runs', 'cancel', RUN, '--wait');
    await until(() => world.signals.listenerCount('SIGINT') > 0);
    await world.clock.advance(3_600_000);
    world.signals.emit('SIGINT');
    expect(await code).toBe(130);
  });

  it.each([
    [['runs']],
    [['runs', 'lst']],
    [['runs', 'show']],
    [['runs', 'show', RUN, 'more']],
    [['runs', 'show', '']],
    [['runs', 'show', '..']],
    [['runs', 'show', '\ud800']],
    [['runs', 'ls', '--state', 'nice']],
    [['runs', 'ls', '--limit', '0']],
    [['runs', 'ls', '--limit', '201']],
    [['runs', 'watch', RUN, '--from', '-1']],
    [['approvals', 'approve']],
    [['approvals', 'approve', '17']],
    [['approvals', 'show', `${DECISION}.`]],
    [['approvals', 'approve', DECISION, '--arguments', '{']],
    [['approvals', 'approve', DECISION, '--arguments', '[]']],
    [['approvals', 'approve', DECISION, '--content', '"x"']],
    [['approvals', 'approve', DECISION, '--content', 'null']],
    [['approvals', 'deny', DECISION, '--for-session']],
    [['approvals', 'list', '--state', 'open']],
    [['approvals', 'watch', '--origin', 'me']],
    [['approvals', 'watch', DECISION]],
    [['sessions', 'park', 'chat-1']],
    [['explain']],
    [['explain', RUN, '--url', 'nowhere']],
  ])('is 2 for %j, and nothing is asked', async (argv) => {
    const world = operatorWorld(() => page([]));
    expect(await world.run(...argv)).toBe(2);
    expect(world.err()).not.toBe('');
    expect(world.requests).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('after %s is %i', async (signal, exitCode) => {
    const world = operatorWorld(() => page([]), { fetch: neverAnswering });
    const code = world.run('runs', 'cancel', RUN, '--wait');
    await until(() => world.signals.listenerCount(signal) > 0);
    world.signals.emit(signal);
    expect(await code).toBe(exitCode);
    expect(world.signals.listenerCount('SIGINT')).toBe(0);
  });

  it.each([[['runs']], [['runs', 'ls']], [['approvals', 'deny']], [['sessions']], [['explain']]])(
    'are in the help of %j',
    async (command) => {
      const world = operatorWorld(() => page([]));
      expect(await world.run(...command, '--help')).toBe(0);
      for (const line of ['0    done', '4    not in a state', '6    not allowed', '130  interr']) {
        expect(world.out()).toContain(line);
      }
    },
  );
});

describe('remedies', () => {
  it.each([
    [['runs', 'show', RUN], 404, 'not_found', 'See the runs by "runwarden runs ls".'],
    [['explain', RUN], 404, 'not_found', 'See the runs by "runwarden runs ls".'],
    [['sessions', 'show', 's'], 404, 'not_found', 'See the sessions by'],
    [['approvals', 'approve', DECISION], 404, 'not_found', 'It is decided or expired;'],
    [['runs', 'resume', RUN], 409, 'approvals_undecided', 'Decide first: "runwarden'],
    [['runs', 'resume', RUN], 409, 'already_resumed', '"runwarden runs show" names the run'],
    [['runs', 'park', RUN], 409, 'run_ended', 'See its state by'],
    [['runs', 'ls'], 401, 'unauthorized', 'Give a key by --api-key-file or RUNWARDEN_API_KEY.'],
    [['runs', 'ls'], 403, 'forbidden', 'Use a key that has the scope'],
    [['runs', 'ls'], 405, 'method_not_allowed', 'The server is of another version'],
  ])('for %j with %i %s', async (argv, status, code, remedy) => {
    const world = operatorWorld(() => refusal(status, { message: 'No.', type: code, code }));
    await world.run(...argv);
    expect(world.err()).toContain(`error: No. (${code}) ${remedy}`);
  });

  it('names the live run of a busy session', async () => {
    const error = { message: 'Busy.', code: 'session_busy', run_id: NEXT_RUN };
    const world = operatorWorld(() => refusal(409, error));
    expect(await world.run('runs', 'resume', RUN)).toBe(4);
    expect(world.err()).toContain(`The live run is ${NEXT_RUN}.`);
  });

  it('says of a key that was sent that it is not known', async () => {
    const error = { message: 'No.', code: 'unauthorized' };
    const env = { RUNWARDEN_API_KEY: 'k'.repeat(20) };
    const world = operatorWorld(() => refusal(401, error), { env });
    await world.run('runs', 'ls');
    expect(world.err()).toContain('does not know the key');
  });

  it('shows what a terminal would obey as text', async () => {
    const message = 'a\u001b[2Jb\u009bc\nd\u202ee';
    const world = operatorWorld(() => refusal(400, { message, code: 'x' }));
    await world.run('runs', 'ls');
    expect(world.err()).toBe('error: a\\x1b[2Jb\\x9bc\\nd\\u202ee (x)\n');
  });
});

/** Ends with its signal alone. */
const neverAnswering: typeof fetch = (_, init) =>
  new Promise((_resolve, reject) => {
    const signal = init?.signal;
    signal?.addEventListener('abort', () => reject(signal.reason as unknown));
  });
