import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import {
  CHAT_USAGE,
  projected as project,
  toolComplete,
  toolRequested,
} from '../support/chat-journal.ts';

const aura = (name: string, fields: string, tail: string): string =>
  `event: aura.${name}\ndata: {${fields},${tail}"choices":[]}\n\n`;
const AGENT = '"agent_id":"main","session_id":"s1",';
const SESSION = '"session_id":"s1",';

describe('chat projection: aura events', () => {
  const custom = { customEvents: true, emitReasoning: true, toolMode: 'hidden' } as const;
  const approval = {
    decision_id: 'd1',
    tool_name: 'rm',
    tool_call_id: 'call_1',
    arguments_digest: 'sha256:00',
  } as const;
  const scope = { kind: 'single', session_id: 's1' } as const;
  const origin = { kind: 'config_gate', matched_pattern: 'r*' } as const;
  const wireOf = (value: unknown): string => JSON.stringify(value);

  it.each<{ event: JournalEvent; frame: string }>([
    {
      event: { type: 'session_info', model: 'scripted/echo', model_context_limit: 1000 },
      frame: aura('session_info', '"model":"scripted/echo","model_context_limit":1000', SESSION),
    },
    {
      event: {
        type: 'mcp_status',
        servers: [
          { server_name: 'm', transport: 'stdio', status: 'failed', tools_count: 0, reason: 'no' },
        ],
      },
      frame: aura(
        'mcp_status',
        '"servers":[{"server_name":"m","transport":"stdio","status":"failed","tools_count":0,' +
          '"reason":"no"}]',
        SESSION,
      ),
    },
    { event: { type: 'mcp_status', servers: [] }, frame: '' },
    {
      event: { type: 'reasoning', content: 'Hm.' },
      frame: aura('reasoning', '"content":"Hm."', AGENT),
    },
    {
      event: toolRequested(),
      frame: aura(
        'tool_requested',
        '"tool_id":"call_1","tool_name":"list_files","arguments":{"path":"/tmp"}',
        AGENT,
      ),
    },
    {
      event: { type: 'tool_start', tool_id: 'call_1', tool_name: 'list_files', progress_token: 3 },
      frame: aura(
        'tool_start',
        '"tool_id":"call_1","tool_name":"list_files","progress_token":3',
        AGENT,
      ),
    },
    {
      event: {
        type: 'tool_progress',
        tool_id: 'call_1',
        message: 'half',
        phase: 'mcp_progress',
        percent: 50,
        progress_token: 3,
      },
      frame: aura(
        'progress',
        '"message":"half","phase":"mcp_progress","percent":50,"progress_token":3',
        AGENT,
      ),
    },
    {
      event: toolComplete(),
      frame: aura(
        'tool_complete',
        '"tool_id":"call_1","tool_name":"list_files","duration_ms":12,"success":true,' +
          '"result":"a \\"b\\""',
        AGENT,
      ),
    },
    {
      event: toolComplete('call_1', { approval: 'denied', result: 'Denied.' }),
      frame: aura(
        'tool_complete',
        '"tool_id":"call_1","tool_name":"list_files","duration_ms":12,"success":true,' +
          '"approval":"denied","result":"Denied."',
        AGENT,
      ),
    },
    {
      event: { type: 'tool_usage', tool_ids: ['call_1'], ...CHAT_USAGE },
      frame: aura(
        'tool_usage',
        '"tool_ids":["call_1"],"prompt_tokens":7,"completion_tokens":5,"total_tokens":12',
        SESSION,
      ),
    },
    {
      event: { type: 'usage', ...CHAT_USAGE },
      frame: aura('usage', '"prompt_tokens":7,"completion_tokens":5,"total_tokens":12', SESSION),
    },
    { event: { type: 'usage', ...CHAT_USAGE, prompt_tokens: 0 }, frame: '' },
    {
      event: {
        type: 'approval_requested',
        ...approval,
        origin,
        scope,
        route: 'webhook',
        expires_at: '2026-01-01T00:00:00Z',
      },
      frame: aura(
        'approval_requested',
        `"decision_id":"d1","tool_name":"rm","origin":${wireOf(origin)},"scope":${wireOf(scope)}`,
        '',
      ),
    },
    {
      event: {
        type: 'approval_pending',
        ...approval,
        arguments: { path: '/x' },
        origin,
        scope,
        expires_at: '2026-01-01T00:00:00Z',
      },
      frame: aura(
        'approval_pending',
        '"decision_id":"d1","tool_name":"rm","arguments":{"path":"/x"},' +
          `"origin":${wireOf(origin)},"scope":${wireOf(scope)},"expires_at":"2026-01-01T00:00:00Z"`,
        '',
      ),
    },
    {
      event: {
        type: 'approval_requested',
        ...approval,
        origin: { kind: 'elicitation', server: 'm', message: 'Who?', schema: { type: 'object' } },
        scope,
      },
      frame: aura(
        'approval_requested',
        '"decision_id":"d1","tool_name":"rm","origin":{"kind":"elicitation","server":"m",' +
          `"message":"Who?","schema":{"type":"object"}},"scope":${wireOf(scope)}`,
        '',
      ),
    },
    {
      event: {
        type: 'approval_reminder',
        decision_id: 'd1',
        tool_name: 'rm',
        waited_ms: 60_000,
        expires_at: '2026-01-01T00:00:00Z',
        tool_call_id: 'call_1',
      },
      frame: aura(
        'approval_reminder',
        '"decision_id":"d1","tool_name":"rm","waited_ms":60000,' +
          '"expires_at":"2026-01-01T00:00:00Z"',
        '',
      ),
    },
    {
      event: {
        type: 'approval_completed',
        decision_id: 'd1',
        outcome: { kind: 'approved', reason: 'Fine.' },
        duration_ms: 5,
        scope,
        tool_call_id: 'call_1',
        arguments_digest: 'sha256:00',
        decided_by: 'key:ops',
        granted_by: 'd0',
        grant: 'session',
        edited: { arguments: { path: '/y' }, arguments_digest: 'sha256:01' },
        content: { a: 1 },
      },
      frame: aura(
        'approval_completed',
        `"decision_id":"d1","outcome":{"kind":"approved"},"duration_ms":5,"scope":${wireOf(scope)}`,
        '',
      ),
    },
    {
      event: {
        type: 'approval_withdrawn',
        decision_id: 'd1',
        tool_call_id: 'call_1',
        reason: 'timed_out',
        notified: true,
      },
      frame: '',
    },
    {
      event: {
        type: 'tool_start',
        tool_id: 'call_1',
        tool_name: 'rm',
        arguments_digest: 'sha256:00',
      },
      frame: aura('tool_start', '"tool_id":"call_1","tool_name":"rm"', AGENT),
    },
    {
      event: toolComplete('call_1', { forbidden_by: 'rm*', result: 'Forbidden.' }),
      frame: aura(
        'tool_complete',
        '"tool_id":"call_1","tool_name":"list_files","duration_ms":12,"success":true,' +
          '"forbidden_by":"rm*","result":"Forbidden."',
        AGENT,
      ),
    },
  ])('renames $event.type', ({ event, frame }) => {
    expect(project([event], custom)).toBe(frame);
  });

  it('tells a failed tool by its error, whole, and gives no result', () => {
    const failure = toolComplete('call_1', { success: false, error: 'x'.repeat(2000) });
    const frames = project([failure], { ...custom, toolResultBytesMax: 10 });
    expect(frames).toContain(`"success":false,"error":"${'x'.repeat(2000)}"`);
    expect(frames).not.toContain('"result"');
  });

  it.each(['timed_out', 'cancelled'] as const)('tells %s from a denial', (kind) => {
    const more = { success: false, error: 'Not approved.', approval: kind };
    const payload = payloadOf(project([toolComplete('call_1', more)], custom));
    expect(payload).toMatchObject({ success: false, approval: kind, error: 'Not approved.' });
    expect(payload).not.toHaveProperty('result');
  });

  it('cuts a result to the limit', () => {
    const frames = project([toolComplete('call_1', { result: 'häuser' })], {
      ...custom,
      toolResultBytesMax: 2,
    });
    expect(frames).toContain('"result":"h... [truncated]"');
  });

  it('sends none but approvals without custom events', () => {
    const events: JournalEvent[] = [
      { type: 'session_info', model: 'scripted/echo' },
      { type: 'reasoning', content: 'Hm.' },
      toolRequested(),
      toolComplete(),
      { type: 'usage', ...CHAT_USAGE },
      { type: 'approval_requested', ...approval, origin, scope },
      {
        type: 'approval_reminder',
        decision_id: 'd1',
        tool_name: 'rm',
        waited_ms: 1,
        expires_at: '2026-01-01T00:00:00Z',
        tool_call_id: 'call_1',
      },
    ];
    const frames = project(events, { toolMode: 'hidden' });
    expect(frames.match(/^event: .*$/gm)).toEqual([
      'event: aura.approval_requested',
      'event: aura.approval_reminder',
    ]);
  });

  it('sends reasoning only where it is asked for', () => {
    const events: JournalEvent[] = [{ type: 'reasoning', content: 'Hm.' }];
    expect(project(events, { ...custom, emitReasoning: false })).toBe('');
  });

  it.each([
    { reason: 'unclaimed', known: 'client_disconnected' },
    { reason: 'shutdown', known: 'shutdown' },
    { reason: 'external', known: 'sender_dropped' },
    { reason: 'error', known: 'sender_dropped' },
    { reason: 'call_over', known: 'sender_dropped' },
  ] as const)('narrows the cancellation $reason to $known', ({ reason, known }) => {
    const outcome = { kind: 'cancelled', reason } as const;
    const event: JournalEvent = {
      type: 'approval_completed',
      decision_id: 'd1',
      outcome,
      duration_ms: 5,
      scope,
      tool_call_id: 'call_1',
      arguments_digest: 'sha256:00',
    };
    expect(project([event])).toBe(
      aura(
        'approval_completed',
        `"decision_id":"d1",` +
          `"outcome":{"kind":"cancelled","reason":"${known}","cause":"${reason}"},` +
          `"duration_ms":5,"scope":${wireOf(scope)}`,
        '',
      ),
    );
  });

  it('names the deadline that cancelled an approval', () => {
    const event: JournalEvent = {
      type: 'approval_completed',
      decision_id: 'd1',
      outcome: { kind: 'cancelled', reason: 'deadline', which: 'total' },
      duration_ms: 5,
      scope,
      tool_call_id: 'call_1',
      arguments_digest: 'sha256:00',
    };
    expect(payloadOf(project([event]))['outcome']).toEqual({
      kind: 'cancelled',
      reason: 'sender_dropped',
      cause: 'deadline',
      which: 'total',
    });
  });

  it('puts an event before the chunk of the same entry', () => {
    const frames = project([toolRequested()], { customEvents: true });
    expect(frames.indexOf('aura.tool_requested')).toBeLessThan(frames.indexOf('"tool_calls"'));
  });
});

function payloadOf(frames: string): Record<string, unknown> {
  const [, data = '{}'] = /^data: (.*)$/m.exec(frames) ?? [];
  return JSON.parse(data) as Record<string, unknown>;
}
