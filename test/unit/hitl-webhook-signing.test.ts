import { describe, expect, it } from 'vitest';
import {
  cancelledContext,
  decisionContext,
  type ReceivedMessage,
  requestContext,
  sign,
  signedHeaders,
  verify,
  verifySigned,
} from '../../src/hitl/webhook/signing.ts';

const SECRET = '0123456789abcdef0123456789abcdef';
const OTHER = 'fedcba9876543210fedcba9876543210';
const ID = '018f2c1a-7b3d-7000-8000-000000000000';
const NOW_S = 1_700_000_000;
const VECTOR = '4580ab4e23773678507ac8db54a4400bd8e6576e9057de4be698ee5b831aae66';
const BODY = '{"approved":true}';

const keys = { secret: SECRET, toleranceMs: 300_000, nowMs: NOW_S * 1_000 };

const message: ReceivedMessage = {
  signature: `sha256=${VECTOR}`,
  timestamp: String(NOW_S),
  context: requestContext(ID),
  body: BODY,
};

const signedAt = (timestamp: number, secret = SECRET): ReceivedMessage => ({
  ...message,
  timestamp: String(timestamp),
  signature: `sha256=${sign({ secret, timestamp, context: message.context, body: BODY })}`,
});

describe('webhook signing: making a signature', () => {
  it('gives the answer that other implementations give', () => {
    const signed = { secret: SECRET, timestamp: NOW_S, context: requestContext(ID) };
    expect(sign({ ...signed, body: BODY })).toBe(VECTOR);
    expect(sign({ ...signed, body: Buffer.from(BODY) })).toBe(VECTOR);
  });

  it('gives the two headers, in whole seconds that have passed', () => {
    const headers = signedHeaders({
      secret: SECRET,
      nowMs: NOW_S * 1_000 + 999,
      context: requestContext(ID),
      body: BODY,
    });
    expect(headers).toEqual({
      'x-aura-signature-256': `sha256=${VECTOR}`,
      'x-aura-timestamp': '1700000000',
    });
  });

  it('names each kind of message', () => {
    expect([requestContext('x'), decisionContext('x'), cancelledContext('x')]).toEqual([
      'approval-request:x',
      'approval-decision:x',
      'approval-cancelled:x',
    ]);
  });

  it.each(['', 'a.b', 'ä'])('refuses the context "%s"', (context) => {
    expect(() => sign({ secret: SECRET, timestamp: 1, context, body: '' })).toThrow(RangeError);
  });

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses the timestamp %s',
    (timestamp) => {
      const signed = { secret: SECRET, context: 'a', body: '' };
      expect(() => sign({ ...signed, timestamp })).toThrow(RangeError);
    },
  );
});

describe('webhook signing: checking a signature', () => {
  it('accepts the known answer', () => {
    expect(verify(message, keys)).toEqual({ ok: true, key: 'primary' });
  });

  it.each([
    ['of the first key', signedAt(NOW_S), 'primary'],
    ['of the second key', signedAt(NOW_S, OTHER), 'secondary'],
  ] as const)('says which key made a signature %s', (_what, signed, key) => {
    expect(verify(signed, { ...keys, secondary: OTHER })).toEqual({ ok: true, key });
  });

  it('refuses the signature of a second key that is not configured', () => {
    expect(verify(signedAt(NOW_S, OTHER), keys)).toEqual({ ok: false, why: 'mismatch' });
  });

  it('refuses the signature of a third key', () => {
    const third = signedAt(NOW_S, 'third key third key third key !!');
    expect(verify(third, { ...keys, secondary: OTHER })).toEqual({ ok: false, why: 'mismatch' });
  });

  it.each([
    ['body', { body: '{"approved":true} ' }],
    ['context', { context: decisionContext(ID) }],
    ['decision', { context: requestContext(ID.replace('8', '9')) }],
    ['timestamp', { timestamp: String(NOW_S + 1) }],
    ['signature', { signature: `sha256=${VECTOR.replace(/6$/, '7')}` }],
  ])('refuses another %s', (_what, changed) => {
    expect(verify({ ...message, ...changed }, keys)).toEqual({ ok: false, why: 'mismatch' });
  });

  it.each([
    ['upper-case digits', `sha256=${VECTOR.toUpperCase()}`],
    ['no prefix', VECTOR],
    ['another prefix', `sha512=${VECTOR}`],
    ['an upper-case prefix', `SHA256=${VECTOR}`],
    ['a digit too few', `sha256=${VECTOR.slice(1)}`],
    ['a digit too many', `sha256=${VECTOR}0`],
    ['no digits', 'sha256='],
    ['white space', ` sha256=${VECTOR}`],
    ['a line break at its end', `sha256=${VECTOR}\n`],
    ['a letter that is no digit', `sha256=${VECTOR.replace(/6$/, 'g')}`],
    ['nothing', ''],
  ])('takes a signature with %s for malformed', (_what, signature) => {
    expect(verify({ ...message, signature }, keys)).toEqual({ ok: false, why: 'malformed' });
  });

  it.each(['', '01700000000', '+1700000000', '-1', '1700000000.0', '1.7e9', ' 1700000000', '0x1'])(
    'takes the timestamp "%s" for malformed',
    (timestamp) => {
      expect(verify({ ...message, timestamp }, keys)).toEqual({ ok: false, why: 'malformed' });
    },
  );

  it.each(['', 'approval-decision:a.b', 'approval-decision:ä'])(
    'takes the context "%s" for malformed',
    (context) => {
      expect(verify({ ...message, context }, keys)).toEqual({ ok: false, why: 'malformed' });
    },
  );

  it.each([
    ['no signature', { signature: undefined }],
    ['no timestamp', { timestamp: undefined }],
  ])('misses what is not there: %s', (_what, changed) => {
    expect(verify({ ...message, ...changed }, keys)).toEqual({ ok: false, why: 'missing' });
  });

  it.each([
    [-300, true],
    [300, true],
    [-301, false],
    [301, false],
  ])('sees a clock that is off by %i s: accepted is %s', (skew, isAccepted) => {
    const verification = verify(signedAt(NOW_S + skew), keys);
    expect(verification).toEqual(
      isAccepted ? { ok: true, key: 'primary' } : { ok: false, why: 'stale' },
    );
  });

  it('counts the time here in whole seconds, too', () => {
    const late = { ...keys, nowMs: (NOW_S + 300) * 1_000 + 999 };
    expect(verify(signedAt(NOW_S), late).ok).toBe(true);
  });

  it('takes nothing for in time when the time here is none', () => {
    const lost = { ...keys, nowMs: Number.NaN };
    expect(verify(signedAt(NOW_S), lost)).toEqual({ ok: false, why: 'stale' });
  });
});

describe('webhook signing: headers', () => {
  const { context, body } = message;
  const headers = { 'x-aura-signature-256': message.signature, 'x-aura-timestamp': '1700000000' };

  it('finds the signature in what Node parsed', () => {
    expect(verifySigned({ headers, context, body }, keys)).toEqual({ ok: true, key: 'primary' });
  });

  it('misses the signature of an unsigned message', () => {
    expect(verifySigned({ headers: {}, context, body }, keys)).toEqual({
      ok: false,
      why: 'missing',
    });
  });

  it('takes a header that came twice for malformed, though both are the same', () => {
    const twice = { ...headers, 'x-aura-timestamp': ['1700000000', '1700000000'] };
    expect(verifySigned({ headers: twice, context, body }, keys)).toEqual({
      ok: false,
      why: 'malformed',
    });
  });
});
