import { describe, expect, it } from 'vitest';
import { createRedactor, credentialsOf } from '../../src/redact-secrets.ts';

const SECRET = 'pa/ss+wörd "9"=';
const redact = createRedactor([SECRET, 'sk-0123456789']);

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a redactor', () => {
  it.each([
    ['as it stands', `key ${SECRET}!`, 'key [redacted]!'],
    ['twice', 'sk-0123456789 sk-0123456789', '[redacted] [redacted]'],
    ['in JSON', JSON.stringify({ key: SECRET }), '{"key":"[redacted]"}'],
    ['in a URL', `/?k=${encodeURIComponent(SECRET)}&a=1`, '/?k=[redacted]&a=1'],
    ['in a form', `${new URLSearchParams({ k: SECRET }).toString()}&a=1`, 'k=[redacted]&a=1'],
    [
      'in a URL with small digits',
      `/?k=${encodeURIComponent(SECRET).replaceAll(/%../g, (byte) => byte.toLowerCase())}`,
      '/?k=[redacted]',
    ],
  ])('replaces a secret %s', (_where, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it.each(['', 'a', 'ab', 'abc', 'user:', 'Ünï'])(
    'replaces a secret in the base64 of what begins with "%s", wherever it ends',
    (before) => {
      for (const behind of ['', 'x', 'xy', 'xyz']) {
        const whole = Buffer.from(before + SECRET + behind);
        for (const encoding of ['base64', 'base64url'] as const) {
          const text = redact(`Basic ${whole.toString(encoding)}.`);
          expect(text).toMatch(/^Basic [\w+/-]{0,12}\[redacted\][\w+/-]{0,6}={0,2}\.$/);
          expect(Buffer.from(text.slice(6), 'base64').toString()).not.toContain('wör');
        }
      }
    },
  );

  it('gives a text without secrets back as it is', () => {
    const text = 'sk-012345678 is not it, nor pa/ss+wörd.';
    expect(redact(text)).toBe(text);
  });

  it('leaves ordinary words alone, which a short secret would blank out', () => {
    expect(createRedactor(['', 'a', 'console'])('a console')).toBe('a console');
    expect(createRedactor(['consoles'])('a consoles')).toBe('a [redacted]');
    expect(createRedactor(['console'], { charsMin: 7 })('a console')).toBe('a [redacted]');
    expect(createRedactor(['', 'a'], { charsMin: 0 })('b')).toBe('b');
  });

  it('takes a secret that holds another one as a whole', () => {
    const both = createRedactor(['12345678', '12345678-def']);
    expect(both('12345678-def and 12345678')).toBe('[redacted] and [redacted]');
  });

  it('takes the signs of patterns as they are', () => {
    const odd = '.*+?^${}()|[]\\';
    expect(createRedactor([odd])(`anything ${odd}`)).toBe('anything [redacted]');
  });

  it('is made of half a character too', () => {
    expect(createRedactor(['\ud800-secret'])('a \ud800-secret')).toBe('a [redacted]');
  });

  it('searches a long text in one pass', () => {
    const many = createRedactor(Array.from({ length: 50 }, (_, index) => base64(`key ${index}!`)));
    const text = 'nothing to see here, '.repeat(10_000);
    expect(many(text)).toBe(text);
    expect(many(`${text}${base64('key 49!')}`)).toBe(`${text}[redacted]`);
  });
});

describe('the credentials of a request', () => {
  it('are the values that its headers carry as such', () => {
    const found = credentialsOf({
      authorization: 'Bearer abc.def',
      cookie: 'theme=dark; sid="s3cr3t"',
      'x-api-key': 'k-1',
      'x-gitlab-token': 't-1',
      'idempotency-key': 'i-1',
      accept: 'text/plain',
      'user-agent': 'curl',
    });
    expect(new Set(found)).toEqual(
      new Set([
        'Bearer abc.def',
        'abc.def',
        'theme=dark; sid="s3cr3t"',
        'dark',
        '"s3cr3t"',
        'k-1',
        't-1',
      ]),
    );
  });
});
