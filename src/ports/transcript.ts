import type { ChatMessage, ToolCall } from '../model.ts';
import type { RunScope } from './run-scope.ts';

/**
 * The conversation as the run leaves it to its session: each tool call is paired with a result that
 * tells the truth, so that a strict provider accepts the next request, however the run ended.
 */
export function transcriptOf(scope: RunScope): readonly ChatMessage[] {
  const { conversation, lastTurn } = scope;
  const results = (lastTurn?.calls ?? []).map((call) => resultOf(scope, call));
  return [...conversation.spoken, ...results];
}

/**
 * The session's transcript, as stored; undefined when this run is not to leave one. A run that has yet
 * to read what it goes on with would write over it.
 */
export function storedTranscript(scope: RunScope): string | undefined {
  if (scope.isAside || scope.startedAt === null || scope.continuesSession) return undefined;
  return JSON.stringify(transcriptOf(scope));
}

/** What a session kept; nothing when it is not a conversation that this version reads. */
export function parseTranscript(text: string | undefined): readonly ChatMessage[] {
  if (text === undefined) return [];
  const messages: unknown = JSON.parse(text);
  // It was written by `storedTranscript`; a store gives back what it was given.
  return Array.isArray(messages) ? (messages as ChatMessage[]) : [];
}

function resultOf(scope: RunScope, { id }: ToolCall): ChatMessage {
  const record = scope.calls.get(id);
  return {
    role: 'tool',
    toolCallId: id,
    content: record?.result?.text ?? openText(record?.client),
  };
}

const openText = (client: boolean | undefined): string =>
  client === true
    ? 'The call was handed to the caller; its result is not known here.'
    : 'The call has not been executed; the run waits, parked, to go on with it.';
