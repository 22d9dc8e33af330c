import { describe, expect, it } from 'vitest';
import { answer, approve, deny, redirect, status } from '../support/webhook-replies.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { channelTo, contextOf, DECISION_ID, QUESTION, world } from '../support/webhook-kit.ts';

describe('webhook: the question', () => {
  it('goes out as one POST that says what is asked', async () => {
    const { receiver, channel } = await world();
    await channel.ask({ ...QUESTION, toolCallIntent: 'clean up' }, contextOf());
    expect(receiver.requests).toHaveLength(1);
    const request = await receiver.next();
    expect(request).toMatchObject({ method: 'POST', path: '/hooks/path-secret?key=query-secret' });
    expect(request.body).toEqual({
      version: 1,
      decision_id: DECISION_ID,
      request_id: QUESTION.runId,
      scope: { kind: 'single', session_id: 'session-1' },
      origin: { kind: 'config_gate', matched_pattern: 'delete_*' },
      items: [
        {
          tool_name: 'delete_file',
          arguments: { path: '/tmp/ä', depth: [1, null] },
          tool_call_intent: 'clean up',
        },
      ],
    });
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(request.raw.length),
      'idempotency-key': DECISION_ID,
      'x-runwarden-expires-at': '2023-11-14T22:14:20.000Z',
    });
    expect(request.headers).not.toHaveProperty('x-aura-event');
    expect(request.headers).not.toHaveProperty('x-aura-signature-256');
  });

  it('leaves an intent out that is not there, and never the arguments', async () => {
    const { receiver, channel } = await world();
    await channel.ask({ ...QUESTION, arguments: undefined }, contextOf());
    const { body } = await receiver.next();
    expect(body['items']).toEqual([{ tool_name: 'delete_file', arguments: {} }]);
  });

  it("carries the operator's headers, and those of the caller in their place", async () => {
    const { receiver, channel } = await world({
      route: {
        headers: { 'x-team': 'ops', 'x-user': 'nobody', 'x-kept': 'kept' },
        headersFromRequest: { 'x-user': 'x-login', 'x-kept': 'x-absent', 'x-odd': 'constructor' },
      },
    });
    await channel.ask(QUESTION, contextOf(undefined, { 'x-login': 'ada', 'x-other': 'no' }));
    const { headers } = await receiver.next();
    expect(headers).toMatchObject({ 'x-team': 'ops', 'x-user': 'ada', 'x-kept': 'kept' });
    expect(headers).not.toHaveProperty('x-odd');
    expect(headers).not.toHaveProperty('x-other');
    expect(headers).not.toHaveProperty('x-login');
  });

  it("lets no header displace the channel's own or break the framing", async () => {
    const taken = {
      'Content-Length': '3',
      'transfer-encoding': 'chunked',
      connection: 'keep-alive',
      expect: '100-continue',
      'content-type': 'text/plain',
      'idempotency-key': 'mine',
      'x-runwarden-expires-at': 'never',
      'x-aura-event': 'approval-cancelled',
      'x-aura-signature-256': 'forged',
    };
    const { receiver, channel } = await world({
      route: { headers: taken, headersFromRequest: { 'x-aura-timestamp': 'x-time' } },
    });
    await channel.ask(QUESTION, contextOf(undefined, { 'x-time': '1' }));
    const { headers, raw, kind } = await receiver.next();
    expect(kind).toBe('question');
    expect(headers).toMatchObject({
      'content-length': String(raw.length),
      connection: 'close',
      'content-type': 'application/json',
      'idempotency-key': DECISION_ID,
      'x-runwarden-expires-at': '2023-11-14T22:14:20.000Z',
    });
    const names = ['transfer-encoding', 'expect', 'x-aura-signature-256', 'x-aura-timestamp'];
    for (const name of names) expect(headers).not.toHaveProperty(name);
  });

  it('sends the user and password of the url as credentials', async () => {
    const { receiver } = await world();
    const { channel } = channelTo(receiver.url.replace('//', '//ada:s%20x@'));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ kind: 'decided' });
    const { headers } = await receiver.next();
    expect(headers.authorization).toBe(`Basic ${Buffer.from('ada:s x').toString('base64')}`);
  });
});

describe('webhook: the answer', () => {
  it('approves', async () => {
    const { receiver, channel } = await world();
    receiver.reply(approve());
    expect(await channel.ask(QUESTION, contextOf())).toEqual({
      kind: 'decided',
      decision: { approved: true, by: 'webhook' },
      toolHeaders: {},
    });
  });

  it.each([201, 202, 299])('decides with status %i, too', async (code) => {
    const { receiver, channel } = await world();
    receiver.reply(deny('not today', { status: code }));
    expect(await channel.ask(QUESTION, contextOf())).toEqual({
      kind: 'decided',
      decision: { approved: false, reason: 'not today', by: 'webhook' },
      toolHeaders: {},
    });
  });

  it('gives the headers of an approved call, and none of a denied one', async () => {
    const { receiver, channel } = await world({
      route: {
        toolHeadersFromResponse: {
          authorization: 'x-token',
          'x-missing': 'x-none',
          'x-set': 'date',
        },
      },
    });
    const headers = { 'X-Token': 'Bearer tool-secret', date: 'today' };
    receiver.reply(approve({ headers }));
    expect(await channel.ask(QUESTION, contextOf())).toHaveProperty('toolHeaders', {
      authorization: 'Bearer tool-secret',
      'x-set': 'today',
    });
    receiver.reply(deny('no', { headers }));
    expect(await channel.ask(QUESTION, contextOf())).toHaveProperty('toolHeaders', {});
  });

  it('may edit, grant and answer where the question lets it', async () => {
    const { receiver, channel } = await world();
    const said = { grant: 'session', arguments: { path: '/b' }, content: { name: 'x' } };
    receiver.reply(answer({ approved: true, ...said }));
    const origin = { kind: 'elicitation', server: 's', message: 'm', schema: {} } as const;
    const may = { edit: true, grant: true };
    expect(await channel.ask({ ...QUESTION, origin, may }, contextOf())).toMatchObject({
      kind: 'decided',
      decision: { approved: true, ...said },
    });
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('"grant"'),
      retryable: false,
    });
  });

  it.each([
    [204, ''],
    [200, 'not json'],
    [200, '{"approved":true,"verdict":"yes"}'],
  ])('decides nothing with status %i and the body "%s"', async (code, body) => {
    const { receiver, channel } = await world();
    receiver.reply(answer(body, { status: code }));
    const result = await channel.ask(QUESTION, contextOf());
    expect(result).toMatchObject({ kind: 'failed', retryable: false });
    expect(receiver.requests).toHaveLength(1);
  });

  it.each([
    [429, true],
    [500, true],
    [502, true],
    [503, true],
    [599, true],
    [304, false],
    [400, false],
    [401, false],
    [404, false],
    [408, false],
    [499, false],
  ])('fails with status %i; to ask again makes sense: %s', async (code, retryable) => {
    const { receiver, channel } = await world();
    receiver.reply(status(code));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining(`webhook answered with status ${code}`),
      retryable,
    });
    expect(receiver.requests).toHaveLength(1);
  });

  it('does not take an approval with another status', async () => {
    const { receiver, channel } = await world();
    receiver.reply(approve({ status: 400 }));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ kind: 'failed' });
  });

  it.each([301, 302, 303, 307, 308])('follows no redirect of its own origin (%i)', async (code) => {
    const { receiver, channel } = await world();
    receiver.reply(redirect('/elsewhere', code));
    expect(await channel.ask(QUESTION, contextOf())).toEqual({
      kind: 'failed',
      message: `webhook answered with status ${code}; redirects are not followed`,
      retryable: false,
    });
    expect(receiver.socketsTaken).toBe(1);
  });

  it('follows no redirect to another origin', async () => {
    const { receiver, channel } = await world();
    const other = await startWebhookReceiver();
    receiver.reply(redirect(other.url));
    expect(await channel.ask(QUESTION, contextOf())).toMatchObject({ retryable: false });
    expect(other.socketsTaken).toBe(0);
    await other.close();
  });
});
