import { describe, expect, it } from 'vitest';
import type { AgentSummary } from '../../src/handle.ts';
import { HI, readCall as read, refusal } from '../support/chat-call-kit.ts';
import { AGENT } from '../support/fake-handle.ts';

describe('chat request: shape', () => {
  it.each([
    [undefined, 'The body must be a JSON object with "messages".', undefined],
    [[], 'The body must be a JSON object with "messages".', undefined],
    [{}, '`messages` is missing; it must be an array.', 'messages'],
    [{ messages: [] }, 'No messages provided', 'messages'],
    [{ messages: 'hi' }, '`messages` must be an array, not a string.', 'messages'],
    [{ messages: [{}] }, '`messages[0].role` is missing; it must be a string.', 'messages[0].role'],
    [
      { messages: [{ role: 'user', content: 5 }] },
      '`messages[0].content` must be a string or an array of text parts.',
      'messages[0].content',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      '`messages[0].content[0]` must be a text part, {"type":"text","text":"…"}; ' +
        'parts of type "image_url" are not supported.',
      'messages[0].content[0]',
    ],
    [{ messages: [HI], stream: 'yes' }, '`stream` must be true or false, not a string.', 'stream'],
    [
      { messages: [HI], max_tokens: 1.5 },
      '`max_tokens` must be a whole number, not a fraction.',
      'max_tokens',
    ],
    [
      { messages: [HI], max_completion_tokens: -1 },
      '`max_completion_tokens` must not be negative.',
      'max_completion_tokens',
    ],
    [
      { messages: [HI], metadata: { a: 1 } },
      '`metadata.a` must be a string, not a number.',
      'metadata.a',
    ],
    [
      { messages: [HI], tools: [{ type: 'custom' }] },
      '`tools[0].type` must be "function".',
      'tools[0].type',
    ],
    [
      { messages: [HI], model: 'a\nb' },
      '`model` must have no control characters and at most 256 bytes.',
      'model',
    ],
  ])('refuses %j and names the field', (body, message, param) => {
    const { status, body: answer } = refusal(body);
    expect(status).toBe(400);
    expect(answer.error.type).toBe('invalid_request_error');
    expect(answer.error.message).toBe(message);
    expect(answer.error.param).toBe(param);
  });

  it('takes null for every optional field and passes over keys it does not know', () => {
    const nulls = { model: null, stream: null, max_tokens: null, metadata: null, tools: null };
    const { streaming, command } = read({
      messages: [{ ...HI, name: null, tool_calls: null }],
      ...nulls,
      user: null,
      temperature: 2,
      stream_options: { include_usage: true },
    });
    expect(streaming).toBe(false);
    expect(command.prompt).toBe('hi');
  });

  it('joins text parts by newlines', () => {
    const content = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ];
    expect(read({ messages: [{ role: 'user', content }] }).command.prompt).toBe('one\ntwo');
  });

  it('takes the token limit under either name, the newer one first', () => {
    expect(read({ messages: [HI], max_tokens: 3 }).projection.tokensMax).toBe(3);
    const both = { messages: [HI], max_tokens: 3, max_completion_tokens: 4 };
    expect(read(both).projection.tokensMax).toBe(4);
  });
});

describe('chat request: history', () => {
  const TOOLS = [{ type: 'function', function: { name: 'f' } }];
  const call = (id: string, text: string) => ({
    id,
    type: 'function',
    function: { name: 'f', arguments: text },
  });
  const messagesOf = (messages: unknown[], more: object = {}) =>
    read({ messages, ...more }).command.messages;

  it('drops system, developer, unknown and blank messages', () => {
    expect(
      messagesOf([
        { role: 'system', content: 'be nice' },
        { role: 'developer', content: 'be nice' },
        { role: 'critic', content: 'no' },
        { role: 'user', content: ' \n' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: '' },
        { role: 'assistant', content: 'two' },
        HI,
      ]),
    ).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'hi' },
    ]);
  });

  it('drops tool traffic when the request has no tools', () => {
    expect(
      messagesOf([
        { role: 'assistant', content: 'hm', tool_calls: [call('a', '{}')] },
        { role: 'tool', tool_call_id: 'a', content: '1' },
        HI,
      ]),
    ).toEqual([
      { role: 'assistant', content: 'hm' },
      { role: 'user', content: 'hi' },
    ]);
  });

  it('keeps tool traffic with tools, and quotes arguments that are not JSON', () => {
    const messages = [
      HI,
      { role: 'assistant', content: null, tool_calls: [call('a', '{"x":1}'), call('b', 'x=1')] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'user', content: 'and?' },
    ];
    expect(messagesOf(messages, { tools: TOOLS })).toEqual([
      HI,
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          { id: 'a', name: 'f', argumentsText: '{"x":1}' },
          { id: 'b', name: 'f', argumentsText: '"x=1"' },
        ],
      },
      { role: 'tool', toolCallId: 'a', content: '1' },
      { role: 'tool', toolCallId: 'b', content: '' },
      { role: 'user', content: 'and?' },
    ]);
  });

  it('goes on behind the results when a tool message is last, in the order of the client', () => {
    const messages = [
      { role: 'user', content: 'first' },
      HI,
      { role: 'assistant', content: '', tool_calls: [call('a', '{}')] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
    ];
    const { command } = read({ messages, tools: TOOLS });
    expect(command.prompt).toBe('hi');
    expect(command.messages).toEqual([
      { role: 'user', content: 'first' },
      HI,
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'f', argumentsText: '{}' }] },
      { role: 'tool', toolCallId: 'a', content: '1' },
    ]);
  });

  it('keeps a call and its result together across messages that are dropped', () => {
    const messages = [
      HI,
      { role: 'assistant', content: null, tool_calls: [call('a', '{}'), call('server', '{}')] },
      { role: 'system', content: 'be nice' },
      { role: 'tool', tool_call_id: 'a', content: '1' },
    ];
    const kept = messagesOf(messages, { tools: TOOLS });
    expect(kept.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(kept[1]).toMatchObject({ toolCalls: [{ id: 'a' }] });
  });

  it.each([
    ['that nobody made', [{ role: 'assistant', content: 'x', tool_calls: [call('b', '{}')] }]],
    ['without any before it', []],
    [
      'of an earlier turn',
      [
        { role: 'assistant', content: 'x', tool_calls: [call('a', '{}')] },
        { role: 'user', content: 'wait' },
      ],
    ],
  ])('refuses a result of a call %s', (_which, between) => {
    const messages = [HI, ...between, { role: 'tool', tool_call_id: 'a', content: '1' }];
    const param = `messages[${messages.length - 1}].tool_call_id`;
    expect(refusal({ messages, tools: TOOLS }).body.error).toEqual({
      message: `\`${param}\` must be the id of a call of the assistant message before it.`,
      type: 'invalid_request_error',
      code: 'invalid_request_error',
      param,
    });
    // Without tools the result is dropped, and with it what is wrong about it.
    expect(messagesOf([...messages, HI]).at(-1)).toEqual(HI);
  });

  it.each([
    [[{ role: 'assistant', content: 'x' }], {}, 'Last message must be from user, got: assistant'],
    [[{ role: 'tool', content: 'x' }], {}, 'Last message must be from user, got: tool'],
    [
      [{ role: 'system', content: 'x' }],
      { tools: TOOLS },
      'Last message must be from user or tool, got: system',
    ],
    [
      [{ role: 'tool', tool_call_id: 'a', content: 'x' }],
      { tools: TOOLS },
      'tool result messages require a preceding user message',
    ],
    [
      [HI, { role: 'tool', content: 'x' }],
      { tools: TOOLS },
      '`messages[1].tool_call_id` is missing; a tool message names the call it answers.',
    ],
  ])('refuses %j with %j', (messages, more, message) => {
    expect(refusal({ messages, ...more })).toMatchObject({ status: 400, message });
  });
});

describe('chat request: agent', () => {
  const other: AgentSummary = {
    ...AGENT,
    id: 'other',
    hidden: true,
    provider: 'openai',
    model: 'm',
  };
  const agents = [AGENT, other];
  const body = { messages: [HI] };

  it('takes any model name when there is one agent', () => {
    expect(read({ ...body, model: 'gpt-9' }).command.agent).toBe('demo');
  });

  it('finds one of several by its exact id, hidden ones too, and names provider and model', () => {
    const call = read({ ...body, model: 'other' }, { agents });
    expect(call.command.agent).toBe('other');
    expect(call.projection.model).toBe('openai/m');
    expect(read(body, { agents, defaultAgent: 'other' }).command.agent).toBe('other');
  });

  it('refuses a name nobody has', () => {
    const { status, body: answer } = refusal({ ...body, model: 'Demo' }, { agents });
    expect(status).toBe(404);
    expect(answer).toEqual({
      error: {
        message: 'The model `Demo` does not exist or you do not have access to it.',
        type: 'invalid_request_error',
        code: 'model_not_found',
        param: 'model',
      },
    });
  });

  it('refuses to choose among several', () => {
    expect(refusal(body, { agents })).toMatchObject({
      status: 400,
      body: {
        error: { message: 'you must provide a model parameter', type: 'invalid_request_error' },
      },
    });
  });

  it('refuses an agent that asks people when the response does not stream', () => {
    const asking = [{ ...AGENT, asksPeople: true }];
    expect(refusal(body, { agents: asking }).body.error.message).toContain('streaming');
    expect(read({ ...body, stream: true }, { agents: asking }).streaming).toBe(true);
  });
});

describe('chat request: custom events', () => {
  const customEvents = (value?: string): boolean =>
    read(
      { messages: [HI] },
      { headers: value === undefined ? {} : { 'x-aura-custom-events': value } },
    ).projection.customEvents;

  it('lets the request decide, else the configuration', () => {
    expect([customEvents(), customEvents('true'), customEvents('FALSE')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('refuses another word', () => {
    const headers = { 'x-aura-custom-events': 'maybe' };
    expect(refusal({ messages: [HI] }, { headers }).message).toContain('X-Aura-Custom-Events');
  });
});

describe('chat request: what is started', () => {
  it('asks for a run that ends with its reader, beside others of its session', () => {
    const { command } = read({ messages: [HI], stream: true }, { headers: { 'x-a': 'b' } });
    expect(command).toMatchObject({
      streaming: true,
      liveness: { policy: 'cancel', graceMs: 0 },
      onBusy: 'parallel',
      requestHeaders: { 'x-a': 'b' },
    });
  });
});

describe('chat request: what the configuration says', () => {
  it('starts the run with the liveness and the busy strategy of chats', () => {
    const liveness = { policy: 'continue', graceMs: 5 } as const;
    const { command } = read({ messages: [HI] }, { config: { liveness, onBusy: 'enqueue' } });
    expect(command).toMatchObject({ liveness, onBusy: 'enqueue' });
  });
});
