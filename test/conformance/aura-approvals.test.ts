import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { projected, toolComplete, toolRequested } from '../support/chat-journal.ts';

/**
 * Hazard: AURA's command line takes a payload for the first event whose required keys it has, whatever
 * the frame is named. A key too many on a payload makes another event of it.
 */

const AGENT = ['agent_id', 'session_id'];

/** In the order in which that client tries them: the name, and the keys that must be there. */
const UNION: readonly (readonly [name: string, required: readonly string[]])[] = [
  ['session_info', ['model', 'session_id']],
  ['tool_requested', ['tool_id', 'tool_name', 'arguments', ...AGENT]],
  ['tool_complete', ['tool_id', 'tool_name', 'duration_ms', 'success', ...AGENT]],
  ['tool_start', ['tool_id', 'tool_name', ...AGENT]],
  ['reasoning', ['content', ...AGENT]],
  ['progress', ['message', 'phase', ...AGENT]],
  ['worker_phase', ['phase', ...AGENT]],
  ['tool_usage', ['tool_ids', 'prompt_tokens', 'completion_tokens', 'total_tokens', 'session_id']],
  ['usage', ['prompt_tokens', 'completion_tokens', 'total_tokens', 'session_id']],
  ['scratchpad_usage', ['tokens_intercepted', 'tokens_extracted', ...AGENT]],
  ['approval_pending', ['decision_id', 'tool_name', 'arguments', 'origin', 'scope', 'expires_at']],
  ['approval_requested', ['decision_id', 'tool_name', 'origin', 'scope']],
  ['approval_completed', ['decision_id', 'outcome', 'duration_ms', 'scope']],
  ['mcp_status', ['servers', 'session_id']],
];

const takenFor = (payload: object): string | undefined =>
  UNION.find(([, required]) => required.every((key) => key in payload))?.[0];

const approval = {
  decision_id: 'd1',
  tool_call_id: 'call_1',
  arguments_digest: 'sha256:00',
  scope: { kind: 'single', session_id: 's1' },
} as const;
const origin = { kind: 'elicitation', server: 'm', message: 'Who?', schema: {} } as const;
const expires_at = '2026-01-01T00:00:00Z';

const EVENTS: readonly (readonly [JournalEvent, string | undefined])[] = [
  [toolRequested(), 'tool_requested'],
  [
    { type: 'tool_start', tool_id: 'c', tool_name: 'rm', arguments_digest: 'sha256:00' },
    'tool_start',
  ],
  [toolComplete('c', { approval: 'denied', forbidden_by: 'rm*' }), 'tool_complete'],
  [
    {
      type: 'approval_requested',
      ...approval,
      tool_name: 'rm',
      origin,
      route: 'webhook',
      expires_at,
    },
    'approval_requested',
  ],
  [
    { type: 'approval_pending', ...approval, tool_name: 'rm', origin, arguments: {}, expires_at },
    'approval_pending',
  ],
  [
    {
      type: 'approval_completed',
      ...approval,
      outcome: { kind: 'cancelled', reason: 'call_over' },
      duration_ms: 1,
      decided_by: 'ann',
      granted_by: 'd0',
      grant: 'session',
      edited: { arguments: {}, arguments_digest: 'sha256:01' },
      content: {},
    },
    'approval_completed',
  ],
  [
    {
      type: 'approval_reminder',
      decision_id: 'd1',
      tool_name: 'rm',
      waited_ms: 1,
      expires_at,
      tool_call_id: 'call_1',
    },
    undefined,
  ],
];

describe('what the command line of AURA takes an approval event for', () => {
  it.each(EVENTS.map(([event, name]) => [event.type, event, name] as const))(
    'is itself or nothing: %s',
    (_type, event, name) => {
      const frames = projected([event], { customEvents: true, toolMode: 'hidden' });
      const [, data = ''] = /^data: (.*)$/m.exec(frames) ?? [];
      const payload = JSON.parse(data) as Record<string, unknown>;
      expect(takenFor(payload)).toBe(name);
      expect(payload['choices']).toEqual([]);
      if (event.type !== 'tool_complete') expect(payload).not.toHaveProperty('error');
    },
  );
});
