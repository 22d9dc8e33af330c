import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { toolComplete, toolRequested } from '../support/chat-journal.ts';
import { chatWorld, type ChatWorld } from '../support/chat-world.ts';
import { AGENT, type FakeRun } from '../support/fake-handle.ts';

/**
 * The official client parses the data of every frame, whatever its event, and takes any error key
 * for a failure. So `aura.*` events must pass unnoticed and abnormal ends must raise.
 */

const MESSAGES = [{ role: 'user' as const, content: 'hi' }];
const DIGEST = { tool_call_id: 'call_1', arguments_digest: 'sha256:00' };
const SCOPE = { kind: 'single' as const };
const APPROVAL: JournalEvent[] = [
  {
    type: 'approval_requested',
    decision_id: 'd1',
    tool_name: 'list_files',
    origin: { kind: 'config_gate', matched_pattern: '*' },
    scope: SCOPE,
    ...DIGEST,
  },
  {
    type: 'approval_pending',
    decision_id: 'd1',
    tool_name: 'list_files',
    arguments: { path: '/tmp' },
    origin: { kind: 'config_gate', matched_pattern: '*' },
    scope: SCOPE,
    expires_at: '2026-01-01T00:00:00Z',
    ...DIGEST,
  },
  {
    type: 'approval_completed',
    decision_id: 'd1',
    outcome: { kind: 'cancelled', reason: 'unclaimed' },
    duration_ms: 5,
    scope: SCOPE,
    ...DIGEST,
  },
];
const EVENTS: JournalEvent[] = [
  { type: 'session_info', model: 'scripted/echo' },
  {
    type: 'mcp_status',
    servers: [{ server_name: 'm', transport: 'stdio', status: 'connected', tools_count: 1 }],
  },
  { type: 'reasoning', content: 'Hm.' },
  toolRequested(),
  ...APPROVAL,
  { type: 'tool_start', tool_id: 'call_1', tool_name: 'list_files', progress_token: 1 },
  { type: 'tool_progress', tool_id: 'call_1', message: 'half', phase: 'mcp_progress' },
  toolComplete(),
  {
    type: 'tool_usage',
    tool_ids: ['call_1'],
    prompt_tokens: 1,
    completion_tokens: 1,
    total_tokens: 2,
  },
];

let world: ChatWorld;
let client: OpenAI;

beforeEach(async () => {
  world = await chatWorld({ config: { emitReasoning: true } });
  client = new OpenAI({ baseURL: `${world.server.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

afterEach(() => world.close());

/** Runs of this test do what `script` says as soon as they start. */
function scripted(script: (run: FakeRun) => void): void {
  world.handle.onStart = script;
}

const create = (custom = false) =>
  client.chat.completions.create(
    { model: 'demo', messages: MESSAGES, stream: true },
    { headers: custom ? { 'X-Aura-Custom-Events': 'true' } : {} },
  );

async function textOf(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

describe('openai client: an answer', () => {
  it('arrives by iteration', async () => {
    scripted((run) => {
      run.text('Hel', 'lo');
      run.finish();
    });
    expect(await textOf(await create())).toBe('Hello');
  });

  it('arrives by the stream helper, with content events, finish reason and usage', async () => {
    scripted((run) => {
      run.text('Hel', 'lo');
      run.finish();
    });
    const stream = client.chat.completions.stream({ model: 'demo', messages: MESSAGES });
    const deltas: string[] = [];
    stream.on('content', (delta) => deltas.push(delta));
    const completion = await stream.finalChatCompletion();
    expect(deltas).toEqual(['Hel', 'lo']);
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect((await stream.totalUsage()).total_tokens).toBe(12);
  });

  it('arrives whole without a stream', async () => {
    scripted((run) => {
      run.text('Hello');
      run.finish();
    });
    const completion = await client.chat.completions.create({ model: 'demo', messages: MESSAGES });
    expect(completion.choices[0]?.message.content).toBe('Hello');
  });

  it('of no text is an empty message', async () => {
    scripted((run) => run.finish());
    const stream = client.chat.completions.stream({ model: 'demo', messages: MESSAGES });
    expect(await stream.finalContent()).toBeNull();
  });

  it.each([{ custom: true }, { custom: false }])(
    'is untouched by events and approvals (custom events: $custom)',
    async ({ custom }) => {
      scripted((run) => {
        for (const event of EVENTS) run.emit(event);
        run.text('done');
        run.emit({ type: 'usage', prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 });
        run.finish();
      });
      expect(await textOf(await create(custom))).toBe('\n\ndone');
      const headers = { 'X-Aura-Custom-Events': String(custom) };
      const request = { model: 'demo', messages: MESSAGES };
      const stream = client.chat.completions.stream(request, { headers });
      const { message } = (await stream.finalChatCompletion()).choices[0] ?? {};
      expect(message?.content).toBe('\n\ndone');
      expect(message?.tool_calls?.length).toBe(1);
    },
  );

  it('asks the caller for a tool', async () => {
    world.handle.agents = [{ ...AGENT, allowsClientTools: true }];
    scripted((run) => {
      run.emit(toolRequested('call_1', { client: true }));
      run.cancelled('client_tool');
    });
    const tools = [{ type: 'function' as const, function: { name: 'list_files', parameters: {} } }];
    const request = { model: 'demo', messages: MESSAGES, tools };
    const completion = await client.chat.completions.stream(request).finalChatCompletion();
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'list_files', arguments: '{"path":"/tmp"}' },
          },
        ],
      },
    });
  });
});

describe('openai client: no answer', () => {
  const ends: readonly { code: string; end: (run: FakeRun) => void }[] = [
    { code: 'provider_error', end: (run) => run.fail('provider_error') },
    { code: 'context_length_exceeded', end: (run) => run.fail('context_length_exceeded') },
    { code: 'shutdown', end: (run) => run.cancelled('shutdown') },
    { code: 'run_cancelled', end: (run) => run.cancelled('external') },
    {
      code: 'deadline_inactivity',
      end: (run) => run.cancelled('deadline', { which: 'inactivity' }),
    },
  ];

  it.each(ends)('raises $code by iteration', async ({ code, end }) => {
    scripted((run) => {
      run.text('par');
      end(run);
    });
    const stream = await create();
    const error: unknown = await textOf(stream).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(error).toMatchObject({ code });
  });

  it.each(ends)('raises $code by the stream helper', async ({ code, end }) => {
    scripted((run) => {
      run.text('par');
      end(run);
    });
    const stream = client.chat.completions.stream({ model: 'demo', messages: MESSAGES });
    await expect(stream.finalContent()).rejects.toMatchObject({ code });
  });

  it.each(ends)('raises $code when nothing was sent', async ({ code, end }) => {
    scripted(end);
    await expect(create()).rejects.toMatchObject({ code });
  });

  it.each(ends)('raises $code without a stream', async ({ code, end }) => {
    scripted(end);
    const request = client.chat.completions.create({ model: 'demo', messages: MESSAGES });
    await expect(request).rejects.toMatchObject({ code });
  });

  it('is not asked for again where that does not help', async () => {
    const patient = new OpenAI({
      baseURL: `${world.server.url}/v1`,
      apiKey: 'none',
      maxRetries: 2,
    });
    scripted((run) => run.cancelled('external'));
    const request = patient.chat.completions.create({ model: 'demo', messages: MESSAGES });
    await expect(request).rejects.toMatchObject({ status: 409 });
    expect(world.handle.runs.size).toBe(1);
  });
});

describe('openai client: leaving', () => {
  it('gives the claim up when the loop is left', async () => {
    scripted((run) => run.text('a', 'b'));
    for await (const _chunk of await create()) break;
    const { runId } = await world.nextRelease();
    expect(world.handle.runs.get(runId)?.end).toMatchObject({ reason: 'unclaimed' });
  });
});
