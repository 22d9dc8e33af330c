import { describe, expect, it } from 'vitest';
import { encodeEvent, encodeText, envelopeHead } from '../../src/journal/entry.ts';
import { parseEnvelope, parseJournal, storedEntry } from '../../src/journal/envelope.ts';

const valid = {
  session_id: 's',
  run_id: 'r',
  seq: 1,
  at: 5,
  payload: { kind: 'agent', event: { type: 'text_delta', text: 'x' } },
};

describe('journal envelope', () => {
  it('encodes a text as the event it is', () => {
    const head = envelopeHead('s', 'r');
    const eventJson = JSON.stringify(valid.payload.event);

    expect(encodeText(head, 1, 5, 'x')).toBe(JSON.stringify(valid));
    expect(encodeEvent(head, { seq: 1, at: 5, kind: 'agent', eventJson })).toBe(
      JSON.stringify(valid),
    );
  });

  it('leaves the run out of an entry that belongs to none', () => {
    const json = encodeText(envelopeHead('s'), 1, 5, 'x');

    expect(parseEnvelope(json)).not.toHaveProperty('run_id');
  });

  it('keeps events and keys that it does not know', () => {
    const foreign = {
      ...valid,
      extra: 1,
      payload: { kind: 'agent', event: { type: 'new', a: [1] } },
    };

    expect(parseEnvelope(JSON.stringify(foreign))).toEqual(foreign);
  });

  it.each([
    ['session_id', { ...valid, session_id: '' }],
    ['seq', { ...valid, seq: 0 }],
    ['seq', { ...valid, seq: 1.5 }],
    ['at', { ...valid, at: '5' }],
    ['run_id', { ...valid, run_id: null }],
    ['payload.kind', { ...valid, payload: { ...valid.payload, kind: 'other' } }],
    ['payload.event.type', { ...valid, payload: { kind: 'agent', event: {} } }],
  ])('refuses a wrong %s and names it', (field, envelope) => {
    expect(() => parseEnvelope(JSON.stringify(envelope))).toThrow(`${field}: `);
  });

  it('refuses what is not JSON without showing it', () => {
    expect(() => parseEnvelope('sk-secret')).toThrow(
      /^A journal entry is damaged: it is not JSON.$/,
    );
  });

  it('reads a whole journal', () => {
    const second = JSON.stringify({ ...valid, seq: 2 });

    expect(parseJournal(`${JSON.stringify(valid)}\n${second}\n`).map(({ seq }) => seq)).toEqual([
      1, 2,
    ]);
  });

  it('refuses a stored entry that stands at the place of another', () => {
    expect(storedEntry('s', 1, JSON.stringify(valid))).toMatchObject({ seq: 1, runId: 'r', at: 5 });
    expect(() => storedEntry('s', 2, JSON.stringify(valid))).toThrow(/Entry 2/);
    expect(() => storedEntry('s', 1, 'null')).toThrow(/Entry 1/);
  });
});
