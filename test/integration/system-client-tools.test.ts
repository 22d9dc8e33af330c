import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import { type SystemOptions, systemWorlds } from '../support/system-world.ts';

/** Tools that the caller of a chat executes: the run ends with the calls, the next one answers them. */

const start = systemWorlds();
const CLIENT_TOOLS: SystemOptions = { agent: 'enable_client_tools = true' };
const MIXED: SystemOptions = { ...CLIENT_TOOLS, mcp: ['web'] };
const PROMPT = { role: 'user' as const, content: 'What is the weather?' };
const TOOL = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
};
const REQUEST = { model: 'agent', messages: [PROMPT], tools: [TOOL] };
const WEATHER = { id: 'call_w', name: 'weather', arguments: { city: 'Bern' } };
const ECHO = { id: 'call_e', name: 'echo', arguments: { said: 'x' } };
const IN_SESSION = { headers: { 'X-Chat-Session-Id': 's' } };

const resultFor = (id: string): OpenAI.ChatCompletionToolMessageParam => ({
  role: 'tool',
  tool_call_id: id,
  content: 'Sunny',
});

describe('a client tool', () => {
  it.each(['stream', 'whole'] as const)('is asked for and answered (%s)', async (how) => {
    const world = await start(CLIENT_TOOLS);
    const { completions } = world.client().chat;
    const complete = (request: OpenAI.ChatCompletionCreateParamsNonStreaming) =>
      how === 'stream'
        ? completions.stream({ ...request, stream: true }, IN_SESSION).finalChatCompletion()
        : completions.create(request, IN_SESSION);
    world.answer(
      { steps: reply({ toolCalls: [WEATHER] }) },
      { steps: reply({ text: ['It is sunny.'] }) },
    );
    const asked = (await complete(REQUEST)).choices[0];
    expect(asked?.finish_reason).toBe('tool_calls');
    expect(asked?.message.tool_calls).toMatchObject([
      { id: 'call_w', function: { name: 'weather', arguments: '{"city":"Bern"}' } },
    ]);
    expect(await world.ended('s')).toMatchObject({
      state: 'cancelled',
      end: { reason: 'client_tool', by: 'client' },
    });
    const messages = [PROMPT, asked?.message as OpenAI.ChatCompletionMessageParam];
    const answered = await complete({ ...REQUEST, messages: [...messages, resultFor('call_w')] });
    expect(answered.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'It is sunny.' },
    });
    expect((await world.upstream.request(1)).body['messages']).toEqual(
      expect.arrayContaining([{ role: 'tool', tool_call_id: 'call_w', content: 'Sunny' }]),
    );
  });

  it('is executed by the helper that runs tools', async () => {
    const world = await start(CLIENT_TOOLS);
    world.answer(
      { steps: reply({ toolCalls: [WEATHER] }) },
      { steps: reply({ text: ['It is sunny.'] }) },
    );
    const asked: string[] = [];
    const tool = {
      ...TOOL,
      function: {
        ...TOOL.function,
        description: 'Tells the weather.',
        function: (args: string) => {
          asked.push(args);
          return 'Sunny';
        },
      },
    };
    const runner = world
      .client()
      .chat.completions.runTools({ ...REQUEST, stream: true, tools: [tool] });
    expect(await runner.finalContent()).toBe('It is sunny.');
    expect(asked).toEqual(['{"city":"Bern"}']);
  });

  it('is not offered by an agent that does not allow it', async () => {
    const world = await start();
    world.answer({ steps: reply({ text: ['No.'] }) });
    await world.client().chat.completions.create(REQUEST);
    expect((await world.upstream.request(0)).body['tools']).toBeUndefined();
  });
});

describe('a turn that calls server and client tools', () => {
  it.each(['none', 'hidden'])(
    'executes the server’s, hands over the client’s and can be answered (mode %s)',
    async (mode) => {
      const world = await start({ ...MIXED, flags: { 'tool-result-mode': mode } });
      const { completions } = world.client().chat;
      world.answer(
        { steps: reply({ toolCalls: [ECHO, WEATHER] }) },
        { steps: reply({ text: ['Done'] }) },
      );
      const { choices } = await completions.stream(REQUEST, IN_SESSION).finalChatCompletion();
      expect(choices[0]?.finish_reason).toBe('tool_calls');
      const ids = choices[0]?.message.tool_calls?.map(({ id }) => id);
      expect(ids).toEqual(mode === 'hidden' ? ['call_w'] : ['call_e', 'call_w']);
      expect(await world.event('s', 'tool_complete')).toMatchObject({
        tool_id: 'call_e',
        success: true,
        result: 'x',
      });
      // A client answers what it knows: its own call.
      const messages = [
        PROMPT,
        choices[0]?.message as OpenAI.ChatCompletionMessageParam,
        resultFor('call_w'),
      ];
      const answered = await completions.create({ ...REQUEST, messages });
      expect(answered.choices[0]?.message.content).toBe('Done');
    },
  );
});
