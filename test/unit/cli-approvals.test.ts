import { describe, expect, it } from 'vitest';
import { decisionContext, verifySigned } from '../../src/hitl/webhook/signing.ts';
import {
  approvalItem,
  DECISION,
  ok,
  operatorWorld,
  page,
  refusal,
  RUN,
  type Answering,
} from './cli-operator-kit.ts';

/** `runwarden approvals`: what a person sees before deciding, and what is sent when they do. */

const SECRET = 'rw-secret-0123456789abcdef0123456789';

const SIGNED = { decide: 'signed', edit: false, grant: false } as const;

interface Typed {
  readonly columns?: number;
  readonly env?: Record<string, string>;
  readonly now?: number;
}

async function typed(argv: readonly string[], answer: Answering, options: Typed = {}) {
  const { now = 0, ...rest } = options;
  const world = operatorWorld(answer, rest);
  world.advance(now);
  const code = await world.run('approvals', ...argv);
  const asked = world.requests.map(({ method, path, body }) => ({ method, path, body }));
  const [out, err] = [world.out(), world.err()];
  return { code, asked, out, err, lines: out.split('\n'), requests: world.requests };
}

const noContent = (): Response => new Response(null, { status: 204 });

describe('approvals list', () => {
  it('lists what waits: since when, until when, for what, by which way and for whom', async () => {
    const item = approvalItem({ parked: true });
    const { asked, lines } = await typed(['list'], () => page([item]), { now: 30_000 });
    expect(asked[0]?.path).toBe('/v1/approvals?state=pending');
    expect(lines[0]).toMatch(
      /^APPROVAL +TOOL +WAITS +LEFT +ARGUMENTS +ROUTE +AGENT +RUN +SESSION$/,
    );
    expect(lines[1]).toMatch(
      new RegExp(
        `^${DECISION} +delete_file +30s +1m +\\{"path":"notes.txt"\\} +conversational +helper +` +
          `${RUN} \\(parked\\) +chat-1$`,
      ),
    );
  });

  it('is the same as ls', async () => {
    const answer = () => page([approvalItem()]);
    expect(await typed(['ls'], answer)).toMatchObject({ out: (await typed(['list'], answer)).out });
  });

  it('sends its filters to the server', async () => {
    const { asked, out } = await typed(
      [
        'list',
        ...['--state', 'denied', '--agent', 'a', '--session', 'b c', '--run', 'r'],
        ...['--tool', 't', '--origin', 'elicitation', '--limit', '7'],
      ],
      () => page([]),
    );
    expect(asked[0]?.path).toBe(
      '/v1/approvals?state=denied&agent=a&session_id=b+c&run_id=r&tool_name=t&origin=elicitation&limit=7',
    );
    expect(out).toBe('No approvals.\n');
  });

  it('shows who decided what, once more than what waits is asked for', async () => {
    const items = [
      approvalItem({ state: 'denied', decided_by: 'key:ops', reason: 'Too\nrisky.' }),
      approvalItem({ state: 'timed_out' }),
    ];
    const { asked, lines } = await typed(['list', '--state', 'all'], () => page(items));
    expect(asked[0]?.path).toBe('/v1/approvals');
    expect(lines[0]).toMatch(/^APPROVAL +TOOL +STATE +ASKED +BY +REASON +ARGUMENTS/);
    expect(lines[1]).toContain('  denied     0ms    key:ops  Too\\nrisky.  {"path"');
    expect(lines[2]).toMatch(/ timed_out +0ms +- +- +\{"path"/);
  });

  it('shows the question of a server in place of arguments', async () => {
    const origin = {
      kind: 'elicitation',
      server: 'm',
      message: 'Which\u001b[2J?',
      schema: {},
    } as const;
    const { lines } = await typed(['list'], () => page([approvalItem({ origin })]));
    expect(lines[1]).toContain('Which\\x1b[2J?');
  });
});

describe('approvals show', () => {
  it('is all that a person has to know, and what may be typed', async () => {
    const item = approvalItem({ may: { decide: 'anyone', edit: true, grant: true } });
    const { asked, out } = await typed(['show', DECISION], () => ok(item), { now: 30_000 });
    expect(asked).toEqual([{ method: 'GET', path: `/v1/approvals/${DECISION}`, body: undefined }]);
    expect(out).toBe(`Approval ${DECISION}
  state    pending
  route    conversational
  asked    1970-01-01 00:00:00Z (30s ago)
  expires  1970-01-01 00:01:30Z (in 1m)
  agent    helper
  run      ${RUN}
  session  chat-1

What is asked
  tool       delete_file
  arguments  {"path":"notes.txt"}
  digest     sha256:00
  why        the configuration holds back delete_*

What may be done now
  approve          runwarden approvals approve ${DECISION}
  edit             runwarden approvals approve ${DECISION} --arguments JSON
  for the session  runwarden approvals approve ${DECISION} --for-session
  deny             runwarden approvals deny ${DECISION}
`);
  });

  it('says who decided, and offers nothing more', async () => {
    const item = approvalItem({ state: 'denied', decided_by: 'ann', reason: 'No.' });
    const { out } = await typed(['show', DECISION], () => ok(item));
    expect(out).toContain('Decision\n  state   denied\n  by      ann\n  reason  No.\n');
    expect(out).not.toContain('runwarden approvals');
  });

  it('says of one that is decided no time that is left, and not that its run waits for it', async () => {
    const item = approvalItem({ state: 'denied', parked: true });
    const { out } = await typed(['show', DECISION], () => ok(item));
    expect(out).not.toContain('expires');
    expect(out).toContain(`run      ${RUN}\n`);
    expect(out).toContain('  by      -\n  reason  -\n');
  });

  it('shows the arguments that the tool is called with, and what the session is granted', async () => {
    const edited = { arguments: { path: 'b' }, arguments_digest: 'sha256:01' };
    const item = approvalItem({ state: 'approved', edited, grant: 'session' });
    const { out } = await typed(['show', DECISION], () => ok(item));
    expect(out).toContain('arguments  {"path":"notes.txt"}\n');
    expect(out).toContain('  arguments now  {"path":"b"}\n  digest now     sha256:01\n');
    expect(out).toContain('  grant          for the session\n');
  });

  it('offers to decide what only a signature decides where there is a secret alone', async () => {
    const may = { decide: 'signed', edit: true, grant: true } as const;
    const answer = () => ok(approvalItem({ route: 'webhook', may }));
    const { out } = await typed(['show', DECISION], answer);
    expect(out).toContain('nothing  its webhook decides it; to decide it here by a signed');
    expect(out).not.toContain('runwarden approvals');
    const env = { AURA_HITL_WEBHOOK_SECRET: SECRET };
    const signing = await typed(['show', DECISION], answer, { env });
    expect(signing.out).toContain(`runwarden approvals approve ${DECISION} --for-session`);
    expect(signing.out).not.toContain('its webhook decides it');
  });

  it('shows the schema of an answer and asks for it', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' } } };
    const origin = { kind: 'elicitation', server: 'crm', message: 'Who?', schema } as const;
    const { out } = await typed(['show', DECISION], () => ok(approvalItem({ origin })));
    expect(out).toContain('why        the server crm asks: Who?\n');
    expect(out).toContain(`answer     an object of ${JSON.stringify(schema)}\n`);
    expect(out).toContain(`approve ${DECISION} --content JSON\n`);
  });

  it('tells of a webhook and of a parked run', async () => {
    const item = approvalItem({ route: 'webhook', parked: true });
    const { out } = await typed(['show', DECISION], () => ok(item));
    expect(out).toContain('route    webhook, which decides it unless a signed decision does\n');
    expect(out).toContain(`run      ${RUN}, which is parked until it is decided\n`);
  });

  it('says what to do about one that is not there', async () => {
    const answer = () => refusal(404, { message: 'No approval.', code: 'not_found' });
    const { code, err } = await typed(['show', DECISION], answer);
    expect({ code, err }).toEqual({
      code: 3,
      err: 'error: No approval. (not_found) Approvals leave the inbox when their run has ended: "runwarden explain RUN_ID" tells then what became of them, and "runwarden runs watch RUN_ID" prints each entry.\n',
    });
  });
});

describe('approvals approve and deny', () => {
  it.each([
    ['approve', ['--reason', 'fine'], { approved: true, reason: 'fine' }, 'Approved'],
    ['approve', [], { approved: true }, 'Approved'],
    ['approve', ['--for-session'], { approved: true, grant: 'session' }, 'Approved'],
    [
      'approve',
      ['--arguments', '{"path":"b","deep":[{}]}'],
      { approved: true, arguments: { path: 'b', deep: [{}] } },
      'Approved',
    ],
    ['approve', ['--content', '{"n":1}'], { approved: true, content: { n: 1 } }, 'Approved'],
    ['deny', ['--reason', 'no'], { approved: false, reason: 'no' }, 'Denied'],
    ['deny', [], { approved: false }, 'Denied'],
  ])('%s %j sends the decision', async (verb, options, body, word) => {
    const { code, asked, out, requests } = await typed([verb, DECISION, ...options], noContent);
    expect(code).toBe(0);
    expect(asked).toEqual([{ method: 'POST', path: `/v1/approvals/${DECISION}`, body }]);
    expect(out).toBe(`${word} ${DECISION}.\n`);
    expect([...(requests[0]?.headers.keys() ?? [])].filter((name) => /aura/.test(name))).toEqual(
      [],
    );
  });

  it('prints nothing for a program, as the server does', async () => {
    const { code, out } = await typed(['approve', DECISION, '--json'], noContent);
    expect({ code, out }).toEqual({ code: 0, out: '' });
  });

  it('signs the bytes that it sends for the id that it sends, and shows the secret to nobody', async () => {
    const id = DECISION.toUpperCase();
    const sent: Request[] = [];
    const world = operatorWorld(noContent, {
      env: { AURA_HITL_WEBHOOK_SECRET: SECRET },
      fetch: async (input, init) => {
        sent.push(new Request(input, init));
        return noContent();
      },
    });
    world.advance(1_700_000_000_000);
    expect(await world.run('approvals', 'approve', id, '--reason', 'zoë 山')).toBe(0);
    const [request] = sent;
    const body = await request?.text();
    expect(body).toBe('{"approved":true,"reason":"zoë 山"}');
    const headers = Object.fromEntries(request?.headers ?? []);
    const message = { headers, context: decisionContext(id), body: body ?? '' };
    const keys = { secret: SECRET, toleranceMs: 0, nowMs: 1_700_000_000_000 };
    expect(verifySigned(message, keys)).toEqual({ ok: true, key: 'primary' });
    expect(`${request?.url} ${JSON.stringify(headers)}`).not.toContain(SECRET);
    expect(world.out() + world.err()).not.toContain(SECRET);
  });

  it('refuses a secret that no server has, without showing it', async () => {
    const env = { AURA_HITL_WEBHOOK_SECRET: 'short-secret' };
    const { code, asked, err } = await typed(['deny', DECISION], noContent, { env });
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(err).toContain('AURA_HITL_WEBHOOK_SECRET is shorter than 32 bytes');
    expect(err).not.toContain('short-secret');
  });

  const signed = { AURA_HITL_WEBHOOK_SECRET: SECRET };
  const signature = 'invalid or missing webhook signature';
  it.each([
    [401, 'unauthorized', signature, {}, 6, 'Set AURA_HITL_WEBHOOK_SECRET to the secret of'],
    [401, 'unauthorized', signature, signed, 6, 'that AURA_HITL_WEBHOOK_SECRET is the secret'],
    [401, 'unauthorized', 'This needs a valid API key', {}, 6, 'Give a key by --api-key-file'],
    [404, 'not_found', 'no pending', {}, 3, 'It is decided or expired;'],
    [404, 'not_found', 'no pending', signed, 3, 'It is decided or expired;'],
    [409, 'run_elsewhere', 'Elsewhere.', {}, 4, 'Decide at the server that has the run'],
    [422, 'edits_not_allowed', 'No.', {}, 1, 'Leave out --arguments, or allow edits'],
    [422, 'grants_not_allowed', 'No.', {}, 1, 'Leave out --for-session, or allow grants'],
    [422, 'content_not_allowed', 'No.', {}, 1, 'Leave out --content'],
    [422, 'invalid_content', 'No.', {}, 1, 'See what it asks for by "runwarden approvals show"'],
    [422, 'arguments_forbidden', 'No.', {}, 1, 'A rule denies those;'],
  ])('says for %i %s (%s) what to do: %j', async (status, code, message, env, exitCode, remedy) => {
    const answer = () => refusal(status, { message, code });
    const result = await typed(['approve', DECISION], answer, { env });
    expect(result.code).toBe(exitCode);
    expect(result.err).toContain(`error: ${message} (${code}) `);
    expect(result.err).toContain(remedy);
    expect(result.err).not.toContain(SECRET);
  });

  it.each<[string, () => Response, string, boolean]>([
    [
      'waits for its webhook',
      () => ok(approvalItem({ may: SIGNED })),
      'Its webhook decides',
      false,
    ],
    ['waits for anyone', () => ok(approvalItem()), 'It is decided or expired', false],
    [
      'was decided by its webhook',
      () => ok(approvalItem({ may: SIGNED, state: 'denied' })),
      'It is decided or expired',
      false,
    ],
    ['is nowhere', () => refusal(404, { message: 'No.' }), 'It is decided or expired', false],
    ['may not be read', () => refusal(403, { message: 'No.' }), 'It is decided or expired', true],
  ])('looks why one is not to be decided: it %s', async (_how, seen, hint, isUnsure) => {
    const answer: Answering = ({ method }) =>
      method === 'GET' ? seen() : refusal(404, { message: 'No pending.', code: 'not_found' });
    const { code, err, asked } = await typed(['deny', DECISION], answer);
    expect(code).toBe(3);
    expect(asked[1]).toMatchObject({ method: 'GET', path: `/v1/approvals/${DECISION}` });
    expect(err).toContain(`error: No pending. (not_found) ${hint}`);
    expect(err.includes('One of the route "webhook"')).toBe(isUnsure);
  });

  it.each([
    [['--content', 'x'], `--content is no JSON object; one looks like '{"name":"Ann"}'.`],
    [
      ['--arguments', '[]'],
      `--arguments is no JSON object; one looks like '{"path":"notes.txt"}'.`,
    ],
    [['--arguments', '{}', '--for-session'], 'Give --arguments or --for-session, not both:'],
  ])('refuses %j before it asks the server', async (options, message) => {
    const { code, asked, err } = await typed(['approve', DECISION, ...options], noContent);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(err).toContain(message);
  });

  it('says in its help what the session is granted', async () => {
    const { out } = await typed(['approve', '--help'], noContent);
    expect(out.replace(/\s+/g, ' ')).toContain(
      'later calls of this tool by this agent in this session that the same rule or pattern ' +
        'holds back, with any arguments',
    );
  });
});
