import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headerValueOf } from '../../src/http/chat/session-id.ts';
import { isEchoable } from '../../src/http/echo.ts';
import { HI, readCall as read, refusal } from '../support/chat-call-kit.ts';

describe('chat request: session', () => {
  const metadata = (chat_session_id: string) => ({ messages: [HI], metadata: { chat_session_id } });

  it("prefers metadata, then our header, then Open WebUI's, then a new id", () => {
    const headers = { 'x-chat-session-id': 'ours', 'x-openwebui-chat-id': 'theirs' };
    const bare = { messages: [HI] };
    expect(read(metadata('meta'), { headers }).command.sessionId).toBe('meta');
    expect(read(bare, { headers }).command.sessionId).toBe('ours');
    const theirs = { headers: { 'x-openwebui-chat-id': 'theirs' } };
    expect(read(bare, theirs).command.sessionId).toBe('theirs');
    expect(read(bare).command.sessionId).toMatch(/^cs_[0-9a-f]{32}$/);
    expect(read(metadata('')).command.sessionId).toMatch(/^cs_/);
  });

  it.each(['a\u0000b', 'a\nb', 'a\u0085b', '\ud800', 'ü'.repeat(129), ' a', 'a ', '\u00a0a', ' '])(
    'refuses %j',
    (id) => {
      const { status, body } = refusal(metadata(id));
      expect(status).toBe(400);
      expect(body.error.param).toBe('metadata.chat_session_id');
    },
  );

  it('reads a header in UTF-8 or in Latin-1, and writes it percent-encoded', () => {
    const utf8 = Buffer.from('zoë €').toString('latin1');
    const headers = { 'x-chat-session-id': utf8 };
    expect(read({ messages: [HI] }, { headers }).command.sessionId).toBe('zoë €');
    const latin = { 'x-chat-session-id': 'zoë' };
    expect(read({ messages: [HI] }, { headers: latin }).command.sessionId).toBe('zoë');
    expect(headerValueOf('zoë €%20 😀')).toBe('zo%C3%AB %E2%82%AC%2520 %F0%9F%98%80');
  });

  const fromHeader = (name: string, value: string) =>
    read({ messages: [HI] }, { headers: { [name]: value } }).command.sessionId;

  it('knows what it sent in its own header, whatever the id', () => {
    const id = fc
      .oneof(fc.string(), fc.string({ unit: 'binary' }), fc.stringMatching(/^(%|%25|%C3|é| |a)+$/))
      .filter((text) => text !== '' && text.trim() === text && isEchoable(text));
    fc.assert(
      fc.property(id, (sessionId) => {
        expect(read(metadata(sessionId)).command.sessionId).toBe(sessionId);
        const sent = headerValueOf(sessionId);
        expect(sent).toMatch(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/);
        expect(fromHeader('x-chat-session-id', sent)).toBe(sessionId);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(['a%20b', '%c3%ab', '%', '%zz', '100%', '%C3', '%41', 'ë%25'])(
    'takes %j as it stands, because it never sends that',
    (value) => {
      const latin1 = Buffer.from(value).toString('latin1');
      expect(fromHeader('x-chat-session-id', latin1)).toBe(value);
      expect(fromHeader('x-chat-session-id', headerValueOf(value))).toBe(value);
    },
  );

  it("takes Open WebUI's header as it stands, and checks what was encoded", () => {
    expect(fromHeader('x-openwebui-chat-id', 'a%25')).toBe('a%25');
    const headers = { 'x-chat-session-id': '%C2%85' };
    expect(refusal({ messages: [HI] }, { headers }).body.error.param).toBe('X-Chat-Session-Id');
  });
});
