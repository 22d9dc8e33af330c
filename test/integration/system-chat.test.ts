import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import { systemWorlds } from '../support/system-world.ts';

/** An ordinary answer on the whole system, read by the official client and byte by byte. */

const start = systemWorlds();
const USAGE = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
const MESSAGES = [{ role: 'user' as const, content: 'Hello' }];
const REQUEST = { model: 'agent', messages: MESSAGES };
const ECHO = { id: 'call_1', name: 'echo', arguments: { said: 'a "quoted" word' } };

const answerWithTool = () => [
  { steps: reply({ text: ['Let me see.'], toolCalls: [ECHO], usage: USAGE }) },
  { steps: reply({ text: ['Do', 'ne'], usage: USAGE }) },
];

describe('the official client', () => {
  it('reads a streamed answer by iteration and by the helper', async () => {
    const world = await start();
    world.answer(...[1, 2].map(() => ({ steps: reply({ text: ['Hel', 'lo'], usage: USAGE }) })));
    let text = '';
    for await (const chunk of await world.client().chat.completions.create({
      ...REQUEST,
      stream: true,
    })) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe('Hello');
    const helper = world.client().chat.completions.stream(REQUEST);
    const parts: string[] = [];
    helper.on('content', (part) => parts.push(part));
    const completion = await helper.finalChatCompletion();
    expect(parts.join('')).toBe('Hello');
    expect(completion.model).toBe('openai/model');
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect(await helper.totalUsage()).toMatchObject(USAGE);
  });

  it('reads an answer that is not streamed, with its usage and session', async () => {
    const world = await start();
    world.answer({ steps: reply({ text: ['Hel', 'lo'], usage: USAGE }) });
    const { data, response } = await world
      .client()
      .chat.completions.create({ ...REQUEST, metadata: { chat_session_id: 'mine' } })
      .withResponse();
    expect(data.choices).toEqual([
      { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' },
    ]);
    expect(data.usage).toEqual(USAGE);
    expect(response.headers.get('x-chat-session-id')).toBe('mine');
    const record = await world.record(String(response.headers.get('x-run-id')));
    expect(record).toMatchObject({ state: 'finished', session_id: 'mine', usage: USAGE });
  });

  it('says that the answer ended for its length', async () => {
    const world = await start();
    world.answer({ steps: reply({ text: ['Hello'], usage: USAGE }) });
    const { choices } = await world
      .client()
      .chat.completions.create({ ...REQUEST, max_completion_tokens: 2 });
    expect(choices[0]?.finish_reason).toBe('length');
  });

  it.each(['length', 'content_filter'])('passes on that the model ended for %s', async (why) => {
    const world = await start();
    const cut = { steps: reply({ text: ['Hel'], finishReason: why, usage: USAGE }) };
    world.answer(cut, cut);
    const whole = await world.client().chat.completions.create(REQUEST);
    expect(whole.choices[0]?.finish_reason).toBe(why);
    const chat = world.chat();
    await chat.all();
    expect([chat.text, chat.finishReasons]).toEqual(['Hel', [why]]);
  });

  it.each(['none', 'open-web-ui', 'aura', 'hidden'])(
    'reads past the server’s own tools in mode %s',
    async (mode) => {
      const world = await start({ mcp: ['web'], flags: { 'tool-result-mode': mode } });
      world.answer(...answerWithTool());
      const helper = world
        .client()
        .chat.completions.stream(REQUEST, { headers: { 'X-Aura-Custom-Events': 'true' } });
      const { choices, usage } = await helper.finalChatCompletion();
      expect(choices[0]?.message.content).toBe('Let me see.\n\nDone');
      expect(choices[0]?.finish_reason).toBe('stop');
      expect(choices[0]?.message.tool_calls?.length ?? 0).toBe(mode === 'hidden' ? 0 : 1);
      expect(usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 });
    },
  );
});

describe('a stream with a server tool', () => {
  it.each([
    { mode: 'none', parts: ['{"said":"a \\"quoted\\" word"}'] },
    { mode: 'aura', parts: ['{"said":"a \\"quoted\\" word"}'] },
    { mode: 'open-web-ui', parts: ['', '"a \\"quoted\\" word"'] },
    { mode: 'hidden', parts: [] },
  ])('shows the call as mode $mode asks', async ({ mode, parts }) => {
    const world = await start({ mcp: ['web'], flags: { 'tool-result-mode': mode } });
    world.answer(...answerWithTool());
    const chat = world.chat();
    await chat.all();
    const calls = chat.choices.flatMap(({ delta }) => delta?.tool_calls ?? []);
    expect(calls.map((call) => Reflect.get(call.function, 'arguments'))).toEqual(parts);
    expect(chat.finishReasons).toEqual(['stop']);
    expect(chat.body.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(chat.complete).toBe(true);
  });

  it('tells the tool’s life in order by aura events', async () => {
    const world = await start({ mcp: ['web', 'demo'] });
    const slow = { id: 'call_1', name: 'slow_count', arguments: { to: 2, delay_ms: 0 } };
    world.answer(
      { steps: reply({ toolCalls: [slow], usage: USAGE }) },
      { steps: reply({ text: ['Done'], usage: USAGE }) },
    );
    const chat = world.chat({}, { 'X-Aura-Custom-Events': 'true' });
    const frames = await chat.all();
    expect(frames.flatMap(({ event }) => event ?? [])).toEqual([
      'aura.session_info',
      'aura.mcp_status',
      'aura.tool_requested',
      'aura.tool_start',
      'aura.progress',
      'aura.progress',
      'aura.tool_complete',
      'aura.tool_usage',
      'aura.usage',
    ]);
    expect(chat.data('aura.mcp_status')[0]).toMatchObject({
      servers: [
        { server_name: 'web', status: 'connected' },
        { server_name: 'demo', status: 'connected' },
      ],
    });
    const { messages } = (await world.upstream.request(1)).body;
    expect((messages as unknown[]).at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'call_1',
      content: 'Counted to 2.',
    });
  });

  it('goes on after a tool that fails, with the failure for the model', async () => {
    const world = await start({ mcp: ['web'] });
    world.answer(
      { steps: reply({ toolCalls: [{ id: 'call_1', name: 'throws', arguments: {} }] }) },
      { steps: reply({ text: ['Sorry'] }) },
    );
    const { choices } = await world.client().chat.completions.create(REQUEST);
    expect(choices[0]?.message.content).toBe('Sorry');
    const { messages } = (await world.upstream.request(1)).body;
    expect((messages as { content: string }[]).at(-1)?.content).toBe(
      'Tool returned an error: no luck',
    );
  });
});

describe('reasoning', () => {
  const answer = { steps: reply({ reasoning: ['Hm', 'm.'], text: ['Hello'], usage: USAGE }) };
  const reasoning = 'aura.reasoning';

  it('reaches those who ask for it and nobody else', async () => {
    const world = await start({ flags: { 'aura-emit-reasoning': true } });
    world.answer(answer, answer);
    const asked = world.chat({}, { 'X-Aura-Custom-Events': 'true' });
    await asked.all();
    expect(
      asked
        .data(reasoning)
        .map(({ content }) => content)
        .join(''),
    ).toBe('Hmm.');
    expect(asked.text).toBe('Hello');
    const plain = world.chat();
    await plain.all();
    expect(plain.data(reasoning)).toEqual([]);
    expect(plain.body).not.toContain('Hm');
  });
});

describe('a wrong request', () => {
  it('is an error of the client’s own kind and starts nothing', async () => {
    const world = await start();
    const create = (change: object) =>
      world.client().chat.completions.create({ ...REQUEST, ...change });
    await expect(create({ messages: [] })).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(create({ max_tokens: -1 })).rejects.toMatchObject({
      status: 400,
      param: 'max_tokens',
    });
    expect(world.upstream.requests).toEqual([]);
  });
});
