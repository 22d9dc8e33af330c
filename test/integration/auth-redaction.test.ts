import type Koa from 'koa';
import { afterEach, describe, expect, it } from 'vitest';
import { SupervisorError } from '../../src/errors.ts';
import { HttpError } from '../../src/http/errors.ts';
import { createLog } from '../../src/log.ts';
import { createRedactor } from '../../src/redact-secrets.ts';
import { type AuthWorld, authWorld, errorOf } from '../support/auth-kit.ts';

/** Hazard: a secret in the words of a library's error, on its way to a client or to the log. */

const SECRET = 'sk-"planted"-0123456789';
const CHAT = '/v1/chat/completions';

const opened: AuthWorld[] = [];

async function failing(error: Error): Promise<AuthWorld> {
  const chat: Koa.Middleware = () => {
    throw error;
  };
  const made = await authWorld({ open: true, chat, redact: createRedactor([SECRET]) });
  opened.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((made) => made.close()));
});

describe('a secret in an error', () => {
  it('that is shown is taken out of its message', async () => {
    const message = `The upstream said: no ${SECRET}.`;
    const world = await failing(new HttpError({ status: 502, code: 'provider_error', message }));
    const answer = await world.ask({ method: 'POST', path: CHAT });
    expect([answer.status, errorOf(answer)['message']]).toEqual([
      502,
      'The upstream said: no [redacted].',
    ]);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
  });

  it('that is shown is taken out where the body was not read', async () => {
    const chat: Koa.Middleware = () => {};
    const redact = createRedactor(['not supported']);
    const world = await authWorld({ open: true, chat, redact });
    opened.push(world);
    const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'zip' };
    const answer = await world.ask({ method: 'POST', path: CHAT, headers, body: '{}' });
    expect([answer.status, answer.text.includes('is [redacted]; use gzip')]).toEqual([415, true]);
  });

  it.each([
    ['a bug', new TypeError(`cannot read ${SECRET}`)],
    ['an unknown error of ours', new SupervisorError('odd', `odd: ${SECRET}`)],
  ])('of %s reaches neither the client nor the log', async (_what, error) => {
    const world = await failing(error);
    const answer = await world.ask({ method: 'POST', path: CHAT });
    expect([answer.status, answer.text.includes('planted')]).toEqual([500, false]);
    expect(world.logged()).toContain('[redacted]');
    expect(world.logged()).not.toContain('planted');
  });
});

describe('a secret in a line of the log', () => {
  const url = `http://x/?k=${encodeURIComponent(SECRET)}`;
  const basic = `Basic ${btoa(`user:${SECRET}`)}`;

  it.each([
    ['the message', {}, `refused ${SECRET}`],
    ['an error', { err: new Error(`refused ${SECRET}`, { cause: new Error(SECRET) }) }, 'x'],
    ['a field', { reason: SECRET }, 'x'],
    ['a field far below', { a: { b: { c: [`${SECRET}!`] } } }, 'x'],
    ['a URL', { url }, `asked ${url}`],
    ['base64', { note: basic }, basic],
  ])('is taken out of %s', (_where, fields, message) => {
    const lines: string[] = [];
    const destination = { write: (line: string) => void lines.push(line) };
    createLog({ secrets: [SECRET], destination }).warn(fields, message);
    expect(lines.join('')).toContain('[redacted]');
    expect(lines.join('')).not.toMatch(/planted/);
    for (const text of lines.join('').match(/Basic [\w+/]+/g) ?? []) {
      expect(Buffer.from(text.slice(6), 'base64').toString()).not.toContain('planted');
    }
    expect(() => JSON.parse(lines[0] ?? '')).not.toThrow();
  });
});
