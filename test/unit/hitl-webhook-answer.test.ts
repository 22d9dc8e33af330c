import { describe, expect, it } from 'vitest';
import { type AnswerRules, readDecision } from '../../src/hitl/webhook/answer.ts';

const ELICITATION = { kind: 'elicitation', server: 's', message: 'm', schema: {} } as const;
const GATE = { kind: 'config_gate', matchedPattern: '*' } as const;

const STRICT: AnswerRules = { origin: GATE, may: { edit: false, grant: false } };
const OPEN: AnswerRules = { origin: ELICITATION, may: { edit: true, grant: true } };

const read = (body: unknown, rules = STRICT) =>
  readDecision(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), rules);

describe('webhook answer: what is read', () => {
  it.each([
    ['an approval', { approved: true }, STRICT, { approved: true }],
    [
      'an approval with a reason',
      { approved: true, reason: 'ok' },
      STRICT,
      { approved: true, reason: 'ok' },
    ],
    ['a denial', { approved: false }, STRICT, { approved: false }],
    [
      'a denial with a reason',
      { approved: false, reason: 'no' },
      STRICT,
      { approved: false, reason: 'no' },
    ],
    [
      'a grant, an edit and an answer',
      { approved: true, grant: 'session', arguments: { a: [1] }, content: { b: 2 } },
      OPEN,
      { approved: true, grant: 'session', arguments: { a: [1] }, content: { b: 2 } },
    ],
    [
      'null as an absent key, allowed or not',
      { approved: true, reason: null, grant: null, arguments: null, content: null },
      STRICT,
      { approved: true },
    ],
    [
      'a denial without what only an approval can carry',
      { approved: false, reason: 'no', grant: 'session', arguments: {}, content: {} },
      OPEN,
      { approved: false, reason: 'no' },
    ],
  ] as const)('understands %s', (_what, body, rules, decision) => {
    expect(read(body, rules)).toEqual({
      kind: 'decision',
      decision: { ...decision, by: 'webhook' },
    });
  });

  it('is sure of its own name for who decided', () => {
    expect(read({ approved: true, by: 'mallory' })).toMatchObject({ kind: 'unreadable' });
  });
});

describe('webhook answer: what is refused', () => {
  const deep = `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`;

  it.each([
    ['no body', '', STRICT, 'is not JSON'],
    ['half a body', '{"approved":tr', STRICT, 'is not JSON'],
    ['two values', '{"approved":true}{}', STRICT, 'is not JSON'],
    ['a list', '[true]', STRICT, 'is not a JSON object'],
    ['a word', 'true', STRICT, 'is not a JSON object'],
    ['null', 'null', STRICT, 'is not a JSON object'],
    ['no decision', '{}', STRICT, 'needs "approved"'],
    ['a decision in words', { approved: 'true' }, STRICT, 'needs "approved"'],
    ['a decision in numbers', { approved: 1 }, STRICT, 'needs "approved"'],
    ['null for a decision', { approved: null }, STRICT, 'needs "approved"'],
    ['an unknown key', { approved: true, verdict: 1 }, STRICT, 'unknown key "verdict"'],
    ['an unknown key that is null', { approved: true, verdict: null }, STRICT, '"verdict"'],
    ['a key of every object', '{"approved":true,"__proto__":{}}', STRICT, '"__proto__"'],
    ['a reason that is no text', { approved: true, reason: 5 }, STRICT, '"reason" that is not'],
    ['a long reason', { approved: false, reason: 'ä'.repeat(4_097) }, STRICT, 'longer than 8192'],
    ['a grant that is not allowed', { approved: true, grant: 'session' }, STRICT, '"grant"; allow'],
    ['another grant', { approved: true, grant: 'ever' }, OPEN, '"grant" that is not'],
    [
      'an edit that is not allowed',
      { approved: true, arguments: {} },
      STRICT,
      '"arguments"; allow',
    ],
    ['a list of arguments', { approved: true, arguments: [] }, OPEN, '"arguments" that are not'],
    ['an answer without a question', { approved: true, content: {} }, STRICT, '"content"; it'],
    ['an answer that is a text', { approved: true, content: 'x' }, OPEN, '"content" that is not'],
    ['deep arguments', `{"approved":true,"arguments":${deep}}`, OPEN, 'nests deeper than 200'],
  ] as const)('names what is wrong with %s', (_what, body, rules, problem) => {
    const result = read(body, rules);
    expect(result).toMatchObject({ kind: 'unreadable' });
    expect(result).toHaveProperty('message', expect.stringContaining(`the webhook's answer`));
    expect(result).toHaveProperty('message', expect.stringContaining(problem));
  });

  it('refuses a text that is not UTF-8', () => {
    const body = Buffer.from('{"approved":true,"reason":"\xff"}', 'latin1');
    expect(readDecision(body, STRICT)).toHaveProperty('message', expect.stringContaining('JSON'));
  });

  it('repeats only the beginning of a long key, and no control characters', () => {
    const result = read({ approved: true, ['\u0000'.repeat(5_000)]: 1 });
    expect(JSON.stringify(result).length).toBeLessThan(600);
    expect(result).toHaveProperty('message', expect.not.stringContaining('\u0000'));
  });
});
