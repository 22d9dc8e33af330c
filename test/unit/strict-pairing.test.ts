import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../src/model.ts';
import { objections } from '../support/strict-pairing.ts';

const user: ChatMessage = { role: 'user', content: 'Hi' };
const call = (...ids: string[]): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 'n', argumentsText: '{}' })),
});
const result = (toolCallId: string): ChatMessage => ({ role: 'tool', toolCallId, content: 'r' });
const says: ChatMessage = { role: 'assistant', content: 'Hello.' };

describe('a strict provider', () => {
  it.each<[string, ChatMessage[]]>([
    ['a question', [user]],
    ['calls with their results, in any order', [user, call('a', 'b'), result('b'), result('a')]],
    ['the same id in another turn', [user, call('a'), result('a'), call('a'), result('a')]],
    ['two users in a row', [user, user]],
    ['two assistants in a row', [user, says, says, user]],
  ])('takes %s', (_, messages) => {
    expect(objections(messages)).toEqual([]);
  });

  it.each<[string, ChatMessage[]]>([
    ['a call without a result', [user, call('a'), user]],
    ['a call without a result at the end', [user, call('a')]],
    ['one result of two', [user, call('a', 'b'), result('a')]],
    ['a result without a call', [user, result('a')]],
    ['a result twice', [user, call('a'), result('a'), result('a')]],
    ['a result that comes late', [user, call('a'), says, result('a')]],
    ['an id twice', [user, call('a', 'a'), result('a')]],
    ['an assistant that says nothing', [user, { role: 'assistant', content: '' }, user]],
    ['an empty list of calls', [user, { role: 'assistant', content: 'x', toolCalls: [] }, user]],
    ['a conversation in which nobody asks', [user, says]],
  ])('objects to %s', (_, messages) => {
    expect(objections(messages)).not.toEqual([]);
  });
});
