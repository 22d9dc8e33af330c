import { describe, expect, it } from 'vitest';
import type { ChatMessage, ModelSink } from '../../src/model.ts';
import { createDemoProvider } from '../../src/providers/demo.ts';
import { createScriptedProvider, type ScriptTurn } from '../../src/providers/scripted.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

interface Heard {
  readonly sink: ModelSink;
  readonly calls: (readonly [string, unknown])[];
  block: Promise<void> | undefined;
}

function listen(): Heard {
  const calls: (readonly [string, unknown])[] = [];
  const note = (method: string) => (value: unknown) => void calls.push([method, value]);
  const heard: Heard = {
    calls,
    block: undefined,
    sink: {
      text: note('text'),
      reasoning: note('reasoning'),
      toolCall: note('toolCall'),
      usage: note('usage'),
      finish: note('finish'),
      activity: () => {},
      full: () => heard.block,
    },
  };
  return heard;
}

const request = { messages: [{ role: 'user', content: 'x' }] as ChatMessage[], tools: [] };
const never = new AbortController().signal;
const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 };
const call = { id: 'c1', name: 'add', argumentsText: '{}' };

describe('scripted provider', () => {
  it('does what the turn says, in its order', async () => {
    const turn: ScriptTurn = [
      { do: 'reasoning', text: 'hm' },
      { do: 'text', text: 'a' },
      { do: 'toolCall', call },
      { do: 'finish', reason: 'tool_calls' },
      { do: 'usage', usage },
    ];
    const heard = listen();
    await createScriptedProvider({ script: [turn], clock: createVirtualClock() }).stream(
      request,
      heard.sink,
      never,
    );
    expect(heard.calls).toEqual([
      ['reasoning', 'hm'],
      ['text', 'a'],
      ['toolCall', call],
      ['finish', 'tool_calls'],
      ['usage', usage],
    ]);
  });

  it('waits for its delays under the clock', async () => {
    const clock = createVirtualClock();
    const heard = listen();
    const turn: ScriptTurn = [
      { do: 'text', text: 'a', afterMs: 50 },
      { do: 'finish', reason: 'stop', afterMs: 10 },
    ];
    const done = createScriptedProvider({ script: [turn], clock }).stream(
      request,
      heard.sink,
      never,
    );
    await clock.advance(49);
    expect(heard.calls).toEqual([]);
    await clock.advance(1);
    expect(heard.calls).toEqual([['text', 'a']]);
    await clock.advance(10);
    await done;
    expect(clock.pending).toEqual([]);
  });

  it('takes one turn for each request and refuses one beyond the script', async () => {
    const script: ScriptTurn[] = ['a', 'b'].map((text) => [
      { do: 'text', text },
      { do: 'finish', reason: 'stop' },
    ]);
    const heard = listen();
    const provider = createScriptedProvider({ script, clock: createVirtualClock() });
    await provider.stream(request, heard.sink, never);
    await provider.stream(request, heard.sink, never);
    expect(heard.calls.filter(([method]) => method === 'text')).toEqual([
      ['text', 'a'],
      ['text', 'b'],
    ]);
    await expect(provider.stream(request, heard.sink, never)).rejects.toMatchObject({
      code: 'script_exhausted',
    });
  });

  it.each([
    ['a cut', [{ do: 'cut' }], true],
    ['a cut after text', [{ do: 'text', text: 'a' }, { do: 'cut' }], false],
    ['an end without finish', [{ do: 'text', text: 'a' }], false],
  ] as [string, ScriptTurn, boolean][])(
    'rejects %s, retryable %s',
    async (_what, turn, retryable) => {
      const provider = createScriptedProvider({ script: [turn], clock: createVirtualClock() });
      await expect(provider.stream(request, listen().sink, never)).rejects.toMatchObject({
        failure: { code: 'provider_error', retryable },
      });
    },
  );

  it('rejects with the failure of an error step', async () => {
    const failure = { code: 'provider_rate_limited', message: 'slow down', retryable: true };
    const script: ScriptTurn[] = [[{ do: 'error', failure }]];
    const provider = createScriptedProvider({ script, clock: createVirtualClock() });
    await expect(provider.stream(request, listen().sink, never)).rejects.toMatchObject({ failure });
  });

  it.each([
    ['a stall', [{ do: 'stall' }]],
    ['a delay', [{ do: 'text', text: 'a', afterMs: 1_000 }]],
  ] as [string, ScriptTurn][])(
    "rejects with the signal's reason in %s, at once",
    async (_what, turn) => {
      const clock = createVirtualClock();
      const stop = new AbortController();
      const heard = listen();
      const done = createScriptedProvider({ script: [turn], clock }).stream(
        request,
        heard.sink,
        stop.signal,
      );
      const reason = new Error('stopped');
      stop.abort(reason);
      await expect(done).rejects.toBe(reason);
      expect(clock.pending).toEqual([]);
      expect(heard.calls).toEqual([]);
    },
  );

  it('does not begin when it is aborted already, and stops between steps without a delay', async () => {
    const stop = new AbortController();
    const heard = listen();
    const sink = { ...heard.sink, text: () => stop.abort('enough') };
    const turn: ScriptTurn = [
      { do: 'text', text: 'a' },
      { do: 'finish', reason: 'stop' },
    ];
    const provider = createScriptedProvider({ script: () => turn, clock: createVirtualClock() });
    await expect(provider.stream(request, sink, stop.signal)).rejects.toBe('enough');
    await expect(provider.stream(request, heard.sink, stop.signal)).rejects.toBe('enough');
    expect(heard.calls).toEqual([]);
  });

  it('says nothing while the sink is full', async () => {
    const clock = createVirtualClock();
    const heard = listen();
    const { promise, resolve } = Promise.withResolvers<void>();
    heard.block = promise;
    const turn: ScriptTurn = [
      { do: 'text', text: 'a' },
      { do: 'finish', reason: 'stop' },
    ];
    const done = createScriptedProvider({ script: [turn], clock }).stream(
      request,
      heard.sink,
      never,
    );
    await clock.settle();
    expect(heard.calls).toEqual([['text', 'a']]);
    heard.block = undefined;
    resolve();
    await done;
    expect(heard.calls).toHaveLength(2);
  });
});

const TOOLS = [
  'slow_count',
  'always_fails',
  'delete_file',
  'ignores_cancel',
  'add',
  'list_files',
  'write_file',
  'deploy',
];

async function demo(
  messages: readonly ChatMessage[],
  toolNames: readonly string[] = TOOLS,
): Promise<{ text: string; calls: unknown[]; finish: unknown; usage: typeof usage; ms: number }> {
  const clock = createVirtualClock();
  const heard = listen();
  const tools = toolNames.map((name) => ({ name, parameters: {} }));
  let minted = 0;
  const provider = createDemoProvider({ clock, mintToolCallId: () => `call_${minted++}` });
  const done = provider.stream({ messages, tools }, heard.sink, never);
  while (clock.pending.length > 0 && !heard.calls.some(([method]) => method === 'usage')) {
    await clock.advance(30);
  }
  await done;
  const of = (method: string): unknown[] =>
    heard.calls.filter(([name]) => name === method).map(([, value]) => value);
  // The sink was given what its contract says it is given.
  return {
    text: of('text').join(''),
    calls: of('toolCall'),
    finish: of('finish')[0],
    usage: of('usage')[0] as typeof usage,
    ms: clock.now(),
  };
}

const says = (content: string): readonly ChatMessage[] => [{ role: 'user', content }];

describe('demo provider', () => {
  it.each([
    ['count slowly to 5', 'slow_count', { to: 5 }],
    ['Please count to 9999!', 'slow_count', { to: 60 }],
    ['count slowly', 'slow_count', { to: 5 }],
    ['delete notes.txt', 'delete_file', { path: 'notes.txt' }],
    ['Remove the file "a/b-c.md", please.', 'delete_file', { path: 'a/b-c.md' }],
    ['fail', 'always_fails', {}],
    ['add 2 and 3', 'add', { a: 2, b: 3 }],
    ['What is -1.5 + 4?', 'add', { a: -1.5, b: 4 }],
    ['run the stubborn tool', 'ignores_cancel', {}],
    ['Deploy the service web-1.', 'deploy', { service: 'web-1' }],
    ['which files are there', 'list_files', {}],
    ['write hello there to notes.txt', 'write_file', { path: 'notes.txt', content: 'hello there' }],
  ])('understands "%s" as %s', async (prompt, name, args) => {
    const { calls, finish } = await demo(says(prompt));
    expect(calls).toEqual([{ id: 'call_0', name, argumentsText: JSON.stringify(args) }]);
    expect(finish).toBe('tool_calls');
  });

  it('calls several tools at once when it is asked to', async () => {
    const { calls } = await demo(says('count to 3, add 1 and 2, and delete x.txt'));
    expect(calls).toMatchObject([
      { id: 'call_0', name: 'slow_count' },
      { id: 'call_1', name: 'add' },
      { id: 'call_2', name: 'delete_file' },
    ]);
  });

  it('calls no tool that it does not have', async () => {
    const { calls, text, finish } = await demo(says('add 2 and 3'), ['slow_count']);
    expect(calls).toEqual([]);
    expect(text).toContain('add');
    expect(finish).toBe('stop');
  });

  it('says who has a tool that it lacks, when its instructions do', async () => {
    const instructions = {
      role: 'system',
      content: 'Be kind. The agent b has delete_file.',
    } as const;
    const { text } = await demo([instructions, ...says('delete notes.txt')], ['add']);
    expect(text).toContain('does not have at the moment. The agent b has delete_file.');
    expect(text).not.toContain('Be kind');
  });

  it.each([
    'hello',
    'Who was Count Dracula?',
    'remove the file',
    `${'x '.repeat(300)} add 2 and 3`,
  ])('answers "%.40s" in words and says what it is', async (prompt) => {
    const { calls, text } = await demo(says(prompt));
    expect(calls).toEqual([]);
    expect(text).toContain('demo model');
    expect(text).toContain('count slowly to 5');
  });

  it('paces its words at 30 ms', async () => {
    const { text, ms } = await demo(says('hello'));
    expect(ms).toBe(text.split(' ').length * 30);
  });

  it.each([
    ['5', /answered: 5/],
    ['Tool returned an error: broken', /failed and said/],
    [
      'Tool call blocked by human approval denial: no. Do not execute this action.',
      /did not approve/,
    ],
    ['tool call denied: approval timed out', /Nobody approved/],
    ['', /answered: nothing/],
  ])('tells the result "%s" in a sentence', async (content, expected) => {
    const { text, calls } = await demo([
      { role: 'user', content: 'add 2 and 3' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [{ id: 'c', name: 'add', argumentsText: '{}' }],
      },
      { role: 'tool', toolCallId: 'c', content },
    ]);
    expect(text).toMatch(expected);
    expect(text).toContain('add');
    expect(calls).toEqual([]);
  });

  it('reports a usage that grows with the conversation', async () => {
    const short = await demo(says('hello'));
    const long = await demo([...says('a long story about nothing'), ...says('hello')]);
    expect(short.usage.promptTokens).toBeGreaterThan(0);
    expect(long.usage.promptTokens).toBeGreaterThan(short.usage.promptTokens);
    expect(short.usage.totalTokens).toBe(short.usage.promptTokens + short.usage.completionTokens);
  });
});
