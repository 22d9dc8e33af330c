import type OpenAI from 'openai';
import type { ChatMessage, ModelRequest, ToolCall } from '../model.ts';
import type { ToolSpec } from '../tool.ts';
import { isRecord, parseJson } from './json.ts';

/** The settings of an agent's model that go into each request. */
export interface RequestSettings {
  readonly model: string;
  /** The most tokens one answer may have. */
  readonly maxTokens?: number;
  readonly reasoningEffort?: ReasoningEffort;
  readonly temperature?: number;
  /**
   * Merged into the body over what the settings above say. What makes the exchange work (`model`,
   * `messages`, `tools`, `stream`) cannot be replaced.
   */
  readonly additionalParams?: Readonly<Record<string, unknown>>;
}

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh';

type Body = OpenAI.ChatCompletionCreateParamsStreaming;

/** The body of a streamed chat-completions request. */
export function toBody(settings: RequestSettings, { messages, tools }: ModelRequest): Body {
  const { model, temperature, reasoningEffort, additionalParams = {} } = settings;
  const asked = additionalParams['stream_options'];
  return {
    ...limitOf(settings),
    ...(temperature !== undefined && { temperature }),
    ...(reasoningEffort !== undefined && { reasoning_effort: reasoningEffort }),
    ...additionalParams,
    model,
    messages: messages.map(toMessage),
    ...(tools.length > 0 && { tools: tools.map(toTool) }),
    stream: true,
    stream_options: { ...(isRecord(asked) && asked), include_usage: true },
  };
}

/** The models that reason refuse `max_tokens`; other upstreams know no other name. */
function limitOf({ model, maxTokens, reasoningEffort }: RequestSettings): Partial<Body> {
  if (maxTokens === undefined) return {};
  const isReasoning = reasoningEffort !== undefined || /(^|\/)(o\d|gpt-[5-9])/.test(model);
  return isReasoning ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens };
}

function toMessage(message: ChatMessage): OpenAI.ChatCompletionMessageParam {
  switch (message.role) {
    case 'assistant':
      return toAssistant(message.content, message.toolCalls ?? []);
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
    default:
      return { role: message.role, content: message.content };
  }
}

/** An empty list of calls is refused by OpenAI, an empty text beside calls by others. */
function toAssistant(
  content: string,
  toolCalls: readonly ToolCall[],
): OpenAI.ChatCompletionAssistantMessageParam {
  if (toolCalls.length === 0) return { role: 'assistant', content };
  return { role: 'assistant', content: content || null, tool_calls: toolCalls.map(toToolCall) };
}

function toToolCall({ id, name, argumentsText }: ToolCall): OpenAI.ChatCompletionMessageToolCall {
  return { id, type: 'function', function: { name, arguments: validArguments(argumentsText) } };
}

/**
 * What a model once wrote stays in the history, valid or not, and some upstreams refuse the whole
 * conversation for it. The tool's result tells the model that its arguments were none.
 */
function validArguments(text: string): string {
  return isRecord(parseJson(text)) ? text : '{}';
}

function toTool({ name, description, parameters }: ToolSpec): OpenAI.ChatCompletionFunctionTool {
  const about = description === undefined ? {} : { description };
  return { type: 'function', function: { name, ...about, parameters } };
}
