import { describe, expect, it } from 'vitest';
import { JSON_DEPTH_MAX } from '../../src/json-depth.ts';
import { HI, readCall, refusal } from '../support/chat-call-kit.ts';
import { AGENT } from '../support/fake-handle.ts';

/**
 * Clients leave out what they do not know, and send null for what they do not use. Both must mean
 * the same, for every key that may be left out.
 */

const OPEN = { agents: [{ ...AGENT, allowsClientTools: true }] };
const CALL = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
const RESULT = { role: 'tool', tool_call_id: 'a', content: '1' };
const toolOf = (more: object) => ({ type: 'function', function: { name: 'f', ...more } });

/** A request in which each optional key stands at `value`, or not at all when it is undefined. */
const FULL: readonly [string, (value: unknown) => object][] = [
  ['model', (model) => ({ messages: [HI], model })],
  ['stream', (stream) => ({ messages: [HI], stream })],
  ['max_tokens', (max_tokens) => ({ messages: [HI], max_tokens })],
  ['max_completion_tokens', (max_completion_tokens) => ({ messages: [HI], max_completion_tokens })],
  ['metadata', (metadata) => ({ messages: [HI], metadata })],
  ['user', (user) => ({ messages: [HI], user })],
  ['tools', (tools) => ({ messages: [HI], tools })],
  ['description', (description) => ({ messages: [HI], tools: [toolOf({ description })] })],
  ['parameters', (parameters) => ({ messages: [HI], tools: [toolOf({ parameters })] })],
  ['content of a user', (content) => ({ messages: [{ role: 'user', content }] })],
  ['content of a system', (content) => ({ messages: [{ role: 'system', content }, HI] })],
  ['content of an assistant', (content) => ({ messages: [{ role: 'assistant', content }, HI] })],
  ['tool_calls', (tool_calls) => ({ messages: [{ ...HI, tool_calls }] })],
  ['tool_call_id', (tool_call_id) => ({ messages: [{ ...HI, tool_call_id }] })],
  ['name', (name) => ({ messages: [{ ...HI, name }] })],
  ['type of a call', (type) => ({ messages: [{ ...HI, tool_calls: [{ ...CALL, type }] }] })],
];

/** As a client's JSON arrives: a key whose value is undefined is absent. */
const sent = (body: object): unknown => JSON.parse(JSON.stringify(body));

describe('chat request: what may be left out', () => {
  it.each(FULL)('%s may be absent or null', (_name, bodyWith) => {
    const absent = readCall(sent(bodyWith(undefined)), OPEN).command;
    expect(readCall(sent(bodyWith(null)), OPEN).command).toEqual(absent);
  });

  it('a turn that only calls tools has no content, and neither has an empty result', () => {
    const messages = [
      HI,
      { role: 'assistant', tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'a' },
    ];
    expect(readCall({ messages, tools: [toolOf({})] }, OPEN).command.messages).toEqual([
      HI,
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'f', argumentsText: '{}' }] },
      { role: 'tool', toolCallId: 'a', content: '' },
    ]);
  });

  it('a part of an assistant that is a refusal is its text', () => {
    const content = [
      { type: 'text', text: 'Hm.' },
      { type: 'refusal', refusal: 'I will not.' },
    ];
    const { messages } = readCall({ messages: [{ role: 'assistant', content }, HI] }).command;
    expect(messages[0]).toEqual({ role: 'assistant', content: 'Hm.\nI will not.' });
  });
});

describe('chat request: words of a refusal', () => {
  it.each([
    [{ max_tokens: Number.POSITIVE_INFINITY }, '`max_tokens` is too large.'],
    [{ max_tokens: Number.NEGATIVE_INFINITY }, '`max_tokens` is too small.'],
    [{ max_tokens: 2 ** 60 }, '`max_tokens` is too large.'],
    [{ max_tokens: -(2 ** 60) }, '`max_tokens` must not be negative.'],
    [{ max_tokens: '5' }, '`max_tokens` must be a number, not a string.'],
    [{ stream: 0.5 }, '`stream` must be true or false, not a number.'],
    [{ metadata: { a: Number.POSITIVE_INFINITY } }, '`metadata.a` must be a string, not a number.'],
    [{ metadata: { a: null } }, '`metadata.a` must be a string, not null.'],
    [{ messages: [{}] }, '`messages[0].role` is missing; it must be a string.'],
    [{ messages: [null] }, '`messages[0]` must be an object, not null.'],
    [{ tools: [{}] }, '`tools[0].type` must be "function".'],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 1 }] }] },
      '`messages[0].content[0]` must have its text in the string "refusal".',
    ],
  ])('for %j are ours', (more, message) => {
    expect(refusal({ messages: [HI], ...more }).message).toBe(message);
  });

  it('send back no key that is not fit for it', () => {
    const { message, body } = refusal({
      messages: [HI],
      metadata: { [`a\n${'x'.repeat(9_999)}`]: 1 },
    });
    expect(message.length).toBeLessThan(200);
    expect(body.error.param).toBe(`metadata.a?${'x'.repeat(62)}…`);
  });
});

function nested(levels: number): object {
  let value = {};
  for (let level = 1; level < levels; level += 1) value = { properties: value };
  return value;
}

describe('chat request: tools of the caller', () => {
  const request = (...tools: object[]) => ({ messages: [HI], tools });

  it('go to an agent that allows them, and to no other', () => {
    const tools = [toolOf({ description: 'does f' })];
    expect(readCall(request(...tools), OPEN).command.clientTools).toEqual([
      { name: 'f', description: 'does f', parameters: { type: 'object', properties: {} } },
    ]);
    expect(readCall(request(...tools)).command.clientTools).toBeUndefined();
  });

  it.each(['', 'a b', 'a.b', 'ü', 'x'.repeat(65), 'a\n'])('are refused for the name %j', (name) => {
    const { status, body } = refusal(request(toolOf({}), toolOf({ name })), OPEN);
    expect([status, body.error.param]).toEqual([400, 'tools[1].function.name']);
    expect(body.error.message).toBe(
      '`tools[1].function.name` must be 1 to 64 of A-Z, a-z, 0-9, "_" and "-".',
    );
    // An agent that does not allow them passes them over.
    expect(readCall(request(toolOf({ name }))).command.clientTools).toBeUndefined();
  });

  it('may have any name that providers take', () => {
    const names = ['A-z_0', 'x'.repeat(64), '-'];
    const { clientTools } = readCall(
      request(...names.map((name) => toolOf({ name }))),
      OPEN,
    ).command;
    expect(clientTools?.map(({ name }) => name)).toEqual(names);
  });

  it('are refused when two have one name', () => {
    const tools = [toolOf({}), toolOf({ name: 'g' }), toolOf({})];
    expect(refusal(request(...tools), OPEN).body.error).toMatchObject({
      message: '`tools[2].function.name` is also the name of `tools[0]`; choose another.',
      param: 'tools[2].function.name',
    });
  });

  it.each([JSON_DEPTH_MAX + 1, 5_000, 200_000])('are refused %i levels deep', (levels) => {
    const parameters = nested(levels);
    const error = refusal(request(toolOf({ parameters })));
    expect([error.status, error.body.error.param]).toEqual([400, 'tools[0].function.parameters']);
    expect(error.message).toContain(`deeper than ${JSON_DEPTH_MAX} levels`);
  });

  it('may nest as deep as the limit', () => {
    const parameters = nested(JSON_DEPTH_MAX);
    const { clientTools } = readCall(request(toolOf({ parameters })), OPEN).command;
    expect(clientTools?.[0]?.parameters).toEqual(parameters);
  });

  it('are kept with their results', () => {
    const messages = [HI, { role: 'assistant', content: null, tool_calls: [CALL] }, RESULT];
    const { messages: kept } = readCall({ messages, tools: [toolOf({})] }, OPEN).command;
    expect(kept.at(-1)).toEqual({ role: 'tool', toolCallId: 'a', content: '1' });
  });
});
