import { ChatProjection, type ProjectionOptions } from '../../src/http/chat/projection.ts';
import type {
  FinishReasonName,
  JournalEvent,
  ParkReason,
  TerminalEvent,
  UsageFields,
} from '../../src/journal/events.ts';
import type { StoredEntry } from '../../src/journal/reader.ts';
import { FakeJournal } from './fake-journal.ts';

export const CHAT_USAGE: UsageFields = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
const END = { by: 'agent', at: 1_700_000_000_001, after_ms: 1, evidence: [1] };

export const text = (value: string): JournalEvent => ({ type: 'text_delta', text: value });

export const finished = (
  usage: UsageFields = CHAT_USAGE,
  finish_reason?: FinishReasonName,
): TerminalEvent => ({
  type: 'finished',
  ...(finish_reason !== undefined && { finish_reason }),
  end: END,
  ...usage,
});

export const cancelled = (
  reason: Extract<TerminalEvent, { type: 'cancelled' }>['reason'],
  more: Partial<Extract<TerminalEvent, { type: 'cancelled' }>> = {},
): TerminalEvent => ({ type: 'cancelled', reason, end: END, ...CHAT_USAGE, ...more });

export const parked = (reason: ParkReason = 'external'): TerminalEvent => ({
  type: 'parked',
  checkpoint: 'v1:run-1:1',
  reason,
  end: END,
  ...CHAT_USAGE,
});

export const failed = (
  code: string,
  message = 'Upstream says: no.',
  retryable = false,
): Extract<TerminalEvent, { type: 'failed' }> => ({
  type: 'failed',
  error: { code, message, retryable },
  end: END,
  ...CHAT_USAGE,
});

export const toolRequested = (
  tool_id = 'call_1',
  more: { client?: boolean; arguments_text?: string } = {},
): JournalEvent => ({
  type: 'tool_requested',
  tool_id,
  tool_name: 'list_files',
  arguments: { path: '/tmp' },
  arguments_text: '{"path":"/tmp"}',
  ...more,
});

export const toolComplete = (
  tool_id = 'call_1',
  more: Partial<Extract<JournalEvent, { type: 'tool_complete' }>> = {},
): JournalEvent => ({
  type: 'tool_complete',
  tool_id,
  tool_name: 'list_files',
  duration_ms: 12,
  success: true,
  ...(more.success === false ? {} : { result: 'a "b"' }),
  ...more,
});

/** The entries of one run, as a reader gets them. */
export function entriesOf(...events: readonly JournalEvent[]): StoredEntry[] {
  const journal = new FakeJournal();
  return events.map((event) => journal.append('s1', 'run-1', event));
}

export const PROJECTION: ProjectionOptions = {
  completionId: 'chatcmpl-1',
  createdSecs: 1_700_000_000,
  model: 'scripted/echo',
  sessionId: 's1',
  toolMode: 'none',
  toolResultBytesMax: 1000,
  customEvents: false,
  emitReasoning: false,
  debugProviderErrors: false,
  tokensMax: undefined,
};

/** The frames of a run's events. */
export function projected(
  events: readonly JournalEvent[],
  options: Partial<ProjectionOptions> = {},
): string {
  const projection = new ChatProjection({ ...PROJECTION, ...options });
  return entriesOf(...events)
    .map((entry) => projection.frames(entry))
    .join('');
}
