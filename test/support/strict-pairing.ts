import type { ChatMessage } from '../../src/model.ts';

/**
 * What a provider that is strict about conversations has against one, as sentences; none when it would
 * take it. The rules are OpenAI's: an assistant's calls are answered by exactly one tool message each,
 * right behind it and before anybody else speaks; a tool message answers such a call; ids are not used
 * twice in one message; an assistant says something or calls something.
 */
export function objections(messages: readonly ChatMessage[]): string[] {
  const found: string[] = [];
  let open = new Set<string>();
  for (const [at, message] of messages.entries()) {
    const object = (what: string) => found.push(`message ${at} (${message.role}): ${what}`);
    if (message.role === 'tool') {
      if (!open.delete(message.toolCallId)) object(`no call waits for ${message.toolCallId}`);
      continue;
    }
    if (open.size > 0) object(`calls are not answered: ${[...open].join(', ')}`);
    open = new Set();
    if (message.role === 'assistant') open = callsOf(message, object);
    else if (message.role === 'user' && message.content === '') object('it is empty');
  }
  if (open.size > 0) found.push(`the end: calls are not answered: ${[...open].join(', ')}`);
  if (!['user', 'tool'].includes(messages.at(-1)?.role ?? '')) found.push('nobody asks anything');
  return found;
}

function callsOf(
  { content, toolCalls }: Extract<ChatMessage, { role: 'assistant' }>,
  object: (what: string) => void,
): Set<string> {
  const ids = (toolCalls ?? []).map(({ id }) => id);
  if (toolCalls?.length === 0) object('its list of calls is empty');
  if (content === '' && ids.length === 0) object('it neither says nor calls anything');
  if (new Set(ids).size < ids.length) object('it uses an id twice');
  if (ids.includes('')) object('a call has no id');
  return new Set(ids);
}
