import type { ChatMessage, ToolCall } from '../../model.ts';
import type { BodyMessage, ChatBody } from './chat-request.ts';
import { badRequest } from '../errors.ts';

export interface Conversation {
  /** Without system messages, which the agent's own prompt stands for. */
  readonly messages: readonly ChatMessage[];
  readonly prompt: string;
}

/**
 * What the caller's messages mean to a run, in the order in which they came: providers want a
 * tool's result right behind the call it answers. The prompt is the trailing user message; behind
 * it stand, in a conversation that ends with a tool's message, the calls it led to and their
 * results, and the model goes on from there.
 *
 * @throws {HttpError} 400 when the messages end otherwise or a tool's message answers no call.
 */
export function conversationOf({
  messages,
  tools,
}: Pick<ChatBody, 'messages' | 'tools'>): Conversation {
  const keepsTools = tools !== undefined && tools.length > 0;
  const promptAt = promptIndex(messages, keepsTools);
  const kept = messages.flatMap((message, index) =>
    index === promptAt || isKept(message, keepsTools) ? [{ message, index }] : [],
  );
  const prompt = messages[promptAt]?.content ?? '';
  return { messages: converted(kept), prompt };
}

function promptIndex(messages: readonly BodyMessage[], keepsTools: boolean): number {
  const last = messages.length - 1;
  const role = messages[last]?.role;
  if (role === 'user') return last;
  if (role !== 'tool' || !keepsTools) {
    const allowed = keepsTools ? 'user or tool' : 'user';
    throw badRequest(`Last message must be from ${allowed}, got: ${role}`, 'messages');
  }
  const user = messages.findLastIndex((message) => message.role === 'user');
  if (user >= 0) return user;
  throw badRequest('tool result messages require a preceding user message', 'messages');
}

function isKept({ role, content, tool_calls = [] }: BodyMessage, keepsTools: boolean): boolean {
  if (role === 'tool') return keepsTools;
  if (role === 'user') return !isBlank(content);
  if (role !== 'assistant') return false;
  return !isBlank(content) || (keepsTools && tool_calls.length > 0);
}

interface Kept {
  readonly message: BodyMessage;
  /** Its place in the request. */
  readonly index: number;
}

function converted(kept: readonly Kept[]): readonly ChatMessage[] {
  const turns: ChatMessage[] = [];
  let calls = NONE;
  for (const [at, { message, index }] of kept.entries()) {
    const { role, content } = message;
    if (role === 'tool') {
      turns.push({ role, toolCallId: callAnswered(message, index, calls), content });
    } else if (role === 'assistant') {
      turns.push(...assistantTurn(message, answersBehind(kept, at)));
      calls = new Set(message.tool_calls?.map(({ id }) => id));
    } else {
      calls = NONE;
      turns.push({ role: 'user', content });
    }
  }
  return turns;
}

const NONE: ReadonlySet<string> = new Set();

/** Providers refuse a result without its call, and a call that stands further up. */
function callAnswered(
  { tool_call_id: id }: BodyMessage,
  index: number,
  calls: ReadonlySet<string>,
) {
  const param = `messages[${index}].tool_call_id`;
  if (id === undefined) {
    throw badRequest(`\`${param}\` is missing; a tool message names the call it answers.`, param);
  }
  if (calls.has(id)) return id;
  const want = 'must be the id of a call of the assistant message before it';
  throw badRequest(`\`${param}\` ${want}.`, param);
}

/**
 * Calls that nobody answered are left out. A client gives back what it was shown, and that includes
 * calls which the server executed and whose results it never saw; providers refuse a call alone.
 */
function assistantTurn(
  { content, tool_calls = [] }: BodyMessage,
  answered: ReadonlySet<string>,
): ChatMessage[] {
  const toolCalls = tool_calls.filter(({ id }) => answered.has(id)).map(toolCallOf);
  if (toolCalls.length > 0) return [{ role: 'assistant', content, toolCalls }];
  return isBlank(content) ? [] : [{ role: 'assistant', content }];
}

/** The calls answered by the tool messages that follow the one at `at`. */
function answersBehind(kept: readonly Kept[], at: number): ReadonlySet<string> {
  const answers = new Set<string>();
  for (let next = at + 1; kept[next]?.message.role === 'tool'; next += 1) {
    const id = kept[next]?.message.tool_call_id;
    if (id !== undefined) answers.add(id);
  }
  return answers;
}

function toolCallOf(call: NonNullable<BodyMessage['tool_calls']>[number]): ToolCall {
  const { name, arguments: text } = call.function;
  return { id: call.id, name, argumentsText: isJson(text) ? text : JSON.stringify(text) };
}

/** Providers refuse a conversation whose arguments are not JSON. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const isBlank = (text: string): boolean => text.trim() === '';
