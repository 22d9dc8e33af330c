import type { ChatMessage, ToolCall } from '../../agent.ts';
import type { BodyMessage, ChatBody } from './chat-request.ts';
import { badRequest } from '../errors.ts';

export interface Conversation {
  /** Without system messages, which the agent's own prompt stands for; ends with the prompt. */
  readonly messages: readonly ChatMessage[];
  readonly prompt: string;
}

/**
 * What the caller's messages mean to a run. The prompt is the trailing user message. A caller that
 * answers its own tool calls ends with a tool's message: then the prompt is the last user message,
 * moved to the end.
 *
 * @throws {HttpError} 400 when the messages end otherwise.
 */
export function conversationOf({ messages, tools }: ChatBody): Conversation {
  const keepsTools = tools !== undefined && tools.length > 0;
  const promptAt = promptIndex(messages, keepsTools);
  const prompt = messages[promptAt]?.content ?? '';
  const history = messages.flatMap((message, index) =>
    index === promptAt ? [] : converted(message, { messages, index, keepsTools }),
  );
  return { messages: [...history, { role: 'user', content: prompt }], prompt };
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

interface Place {
  readonly messages: readonly BodyMessage[];
  readonly index: number;
  readonly keepsTools: boolean;
}

function converted(message: BodyMessage, place: Place): ChatMessage[] {
  const { role, content } = message;
  const { index, keepsTools } = place;
  if (role === 'user') return isBlank(content) ? [] : [{ role, content }];
  if (role === 'assistant') return assistantTurn(message, place);
  if (role !== 'tool' || !keepsTools) return [];
  if (message.tool_call_id !== undefined) {
    return [{ role, toolCallId: message.tool_call_id, content }];
  }
  const param = `messages[${index}].tool_call_id`;
  throw badRequest(`\`${param}\` is missing; a tool message names the call it answers.`, param);
}

/**
 * Calls that nobody answered are left out. A client gives back what it was shown, and that includes
 * calls which the server executed and whose results it never saw; providers refuse a call alone.
 */
function assistantTurn(
  { content, tool_calls = [] }: BodyMessage,
  { messages, index, keepsTools }: Place,
): ChatMessage[] {
  const answered = keepsTools ? answersBehind(messages, index) : NONE;
  const toolCalls = tool_calls.filter(({ id }) => answered.has(id)).map(toolCallOf);
  if (toolCalls.length > 0) return [{ role: 'assistant', content, toolCalls }];
  return isBlank(content) ? [] : [{ role: 'assistant', content }];
}

const NONE: ReadonlySet<string> = new Set();

/** The calls answered by the tool messages that follow the one at `index`. */
function answersBehind(messages: readonly BodyMessage[], index: number): ReadonlySet<string> {
  const rest = messages.slice(index + 1);
  const end = rest.findIndex(({ role }) => role !== 'tool');
  const answers = end < 0 ? rest : rest.slice(0, end);
  return new Set(answers.flatMap(({ tool_call_id: id }) => id ?? []));
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
