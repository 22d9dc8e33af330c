import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../src/model.ts';
import type { ToolSpec } from '../../src/tool.ts';
import { createOpenAiProvider } from '../../src/providers/openai.ts';
import { type RequestSettings, toBody } from '../../src/providers/openai-request.ts';
import { faultOf } from '../../src/testing/fake-upstream-validation.ts';

const hello: ChatMessage = { role: 'user', content: 'hello' };

function bodyOf(
  settings: Partial<RequestSettings> = {},
  messages: readonly ChatMessage[] = [hello],
  tools: readonly ToolSpec[] = [],
): Record<string, unknown> {
  const body = toBody({ model: 'gpt-4o', ...settings }, { messages, tools });
  return JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
}

const asking = (argumentsText: string): readonly ChatMessage[] => [
  hello,
  { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'add', argumentsText }] },
  { role: 'tool', toolCallId: 'c1', content: '5' },
];

describe('openai request', () => {
  it('asks for a stream with its usage, and for no tools where there are none', () => {
    expect(bodyOf()).toEqual({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hello' }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('maps a conversation with tool calls to one that is accepted', () => {
    const messages: ChatMessage[] = [
      { role: 'system', content: 'be brief' },
      ...asking('{"a":2}'),
      { role: 'assistant', content: 'It is 5.', toolCalls: [] },
      hello,
    ];
    const tool = { name: 'add', description: 'adds', parameters: { type: 'object' } };
    const body = bodyOf({}, messages, [tool]);
    expect(faultOf(body)).toBeUndefined();
    expect(body['messages']).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":2}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: '5' },
      { role: 'assistant', content: 'It is 5.' },
      { role: 'user', content: 'hello' },
    ]);
    expect(body['tools']).toEqual([{ type: 'function', function: tool }]);
  });

  it.each(['', '{"a":', 'nonsense', '[1]', '"text"', 'null'])(
    'sends {} for the invalid arguments %j of an earlier call',
    (argumentsText) => {
      const body = bodyOf({}, asking(argumentsText));
      expect(faultOf(body)).toBeUndefined();
      expect(JSON.stringify(body)).toContain('"arguments":"{}"');
    },
  );

  it('names the limit of tokens as the model wants it', () => {
    expect(bodyOf({ maxTokens: 9 })).toMatchObject({ max_tokens: 9 });
    for (const model of ['o3-mini', 'gpt-5.1', 'vendor/gpt-5']) {
      expect(bodyOf({ model, maxTokens: 9 })).toMatchObject({ max_completion_tokens: 9 });
    }
    const effortful = bodyOf({ maxTokens: 9, reasoningEffort: 'low' });
    expect(effortful).toMatchObject({ max_completion_tokens: 9, reasoning_effort: 'low' });
  });

  it('merges additional parameters, but not over what the exchange needs', () => {
    const body = bodyOf({
      temperature: 0.5,
      additionalParams: {
        temperature: 1,
        top_p: 0.1,
        stream: false,
        model: 'other',
        messages: [],
        stream_options: { include_usage: false, include_obfuscation: false },
      },
    });
    expect(body).toMatchObject({ temperature: 1, top_p: 0.1, stream: true, model: 'gpt-4o' });
    expect(body['messages']).toHaveLength(1);
    expect(body['stream_options']).toEqual({ include_usage: true, include_obfuscation: false });
  });
});

describe('openai provider: options', () => {
  const options = { apiKey: 'sk-secret', model: 'gpt-4o', baseUrl: 'http://127.0.0.1:1/v1' };

  it('names itself, its model and its context window', () => {
    const provider = createOpenAiProvider({ ...options, contextWindow: 9 });
    expect(provider).toMatchObject({ provider: 'openai', model: 'gpt-4o', contextWindow: 9 });
    expect('contextWindow' in createOpenAiProvider(options)).toBe(false);
  });

  it.each([
    [{ apiKey: '' }, 'api_key'],
    [{ apiKey: 'sk-secret\n' }, 'api_key'],
    [{ model: ' ' }, 'model'],
    [{ baseUrl: 'user:sk-secret@host' }, 'base_url'],
    [{ baseUrl: 'ftp://me:sk-secret@host' }, 'base_url'],
  ])('refuses %o by naming %s and no value', (change, key) => {
    const make = (): unknown => createOpenAiProvider({ ...options, ...change });
    expect(make).toThrow(key);
    expect(make).not.toThrow('sk-secret');
  });
});

describe('fake upstream: what it refuses', () => {
  const body = (messages: unknown): Record<string, unknown> => ({
    model: 'm',
    stream: true,
    messages,
  });
  const call = { id: 'c1', type: 'function', function: { name: 'add', arguments: '{}' } };
  const user = { role: 'user', content: 'x' };
  const asks = { role: 'assistant', content: null, tool_calls: [call] };
  const result = { role: 'tool', tool_call_id: 'c1', content: '5' };

  it('accepts calls that are each answered once', () => {
    expect(faultOf(body([user, asks, result]))).toBeUndefined();
  });

  it.each([
    ['no result', [user, asks]],
    ['a result that comes late', [user, asks, user, result]],
    ['two results', [user, asks, result, result]],
    ['a result without a call', [user, result]],
    ['a result of another call', [user, asks, { ...result, tool_call_id: 'c2' }]],
    ['two calls with one id', [user, { ...asks, tool_calls: [call, call] }, result]],
    ['an empty list of calls', [user, { ...asks, tool_calls: [] }]],
    [
      'arguments that are no object',
      [
        user,
        { ...asks, tool_calls: [{ ...call, function: { name: 'add', arguments: '' } }] },
        result,
      ],
    ],
    ['an unknown role', [{ role: 'robot', content: 'x' }]],
    ['a user without content', [{ role: 'user', content: null }]],
    ['no messages', []],
  ])('refuses %s', (_what, messages) => {
    expect(faultOf(body(messages))).toEqual(expect.any(String));
  });

  it.each([
    ['no model', { model: '' }],
    ['no stream', { stream: false }],
    ['empty tools', { tools: [] }],
    ['a tool with a wrong name', { tools: [{ type: 'function', function: { name: 'a b' } }] }],
    ['a tool twice', { tools: [1, 2].map(() => ({ type: 'function', function: { name: 'a' } })) }],
    ['a limit of 0', { max_tokens: 0 }],
    ['a temperature of 3', { temperature: 3 }],
  ])('refuses %s', (_what, change) => {
    expect(faultOf({ ...body([user]), ...change })).toEqual(expect.any(String));
  });
});
