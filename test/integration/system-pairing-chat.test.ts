import { describe, expect, it } from 'vitest';
import {
  ASKS_FIRST,
  begin,
  calls,
  callSteps,
  control,
  ECHO,
  ended,
  eventsOf,
  gated,
  heard,
  says,
  STALLED,
  WAITS,
} from '../support/api-kit.ts';
import { goOn, matching, sentLines } from '../support/api-pairing.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** A headless run goes on where a chat ended, and a session where one of its runs was parked. */

const start = systemWorlds();
const WEB: SystemOptions = { mcp: ['web'] };
const IN_SESSION = { 'X-Chat-Session-Id': 's' };
const TOOL = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
};
const WEATHER = { id: 'call_w', name: 'weather', arguments: { city: 'Bern' } };
const CALL = 'assistant: [call_1=echo]';

const chatOf = (world: SystemWorld, body: object = {}) => world.chat(body, IN_SESSION);

describe('a headless run goes on behind a chat', () => {
  it('that was left in mid-text', async () => {
    const world = await start();
    world.answer(STALLED);
    const chat = chatOf(world);
    await chat.until(({ text }) => text === 'Half');
    await chat.leave();
    await world.ended('s');
    expect(await goOn(world)).toEqual(['user: Hello', matching(/^assistant: Half/), 'user: Next']);
  });

  it('that was left in mid-tool', async () => {
    const world = await start(WEB);
    world.answer(calls(WAITS));
    const chat = chatOf(world);
    await world.event('s', 'tool_progress');
    await chat.leave();
    await world.ended('s');
    expect(await goOn(world)).toEqual([
      'user: Hello',
      'assistant: [call_1=waits]',
      matching(/^tool call_1: .*client disconnected/),
      'user: Next',
    ]);
  });

  it('that ended with a call for its own caller', async () => {
    const world = await start({ agent: 'enable_client_tools = true' });
    world.answer(calls(WEATHER));
    await chatOf(world, { tools: [TOOL] }).all();
    expect(await world.ended('s')).toMatchObject({ end: { reason: 'client_tool' } });
    expect(await goOn(world)).toEqual([
      'user: Hello',
      'assistant: [call_w=weather]',
      matching(/^tool call_w: .*caller.*not known/),
      'user: Next',
    ]);
  });

  it('that ended with a call for its caller beside one of ours', async () => {
    const world = await start({ ...WEB, agent: 'enable_client_tools = true' });
    world.answer(calls(WEATHER, ECHO));
    await chatOf(world, { tools: [TOOL] }).all();
    await world.ended('s');
    expect(await goOn(world)).toEqual([
      'user: Hello',
      'assistant: [call_w=weather][call_1=echo]',
      matching(/^tool call_w: .*caller.*not known/),
      'tool call_1: x',
      'user: Next',
    ]);
  });

  it('whose client brought a history with a call and its result', async () => {
    const world = await start({ agent: 'enable_client_tools = true' });
    const called = { type: 'function', function: { name: 'weather', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_0', ...called }] },
      { role: 'tool', tool_call_id: 'call_0', content: 'Sunny' },
    ];
    world.answer(says('It is sunny.'));
    await chatOf(world, { messages, tools: [TOOL] }).all();
    expect(await goOn(world)).toEqual([
      'user: Weather?',
      'assistant: [call_0=weather]',
      'tool call_0: Sunny',
      'assistant: It is sunny.',
      'user: Next',
    ]);
  });
});

describe('a session goes on', () => {
  it('when a provider gives the same call id in every turn and every run', async () => {
    const world = await start(WEB);
    world.answer(calls(ECHO), calls(ECHO), says('Twice.'));
    await ended(world, (await begin(world)).run_id);
    world.answer(calls(ECHO), says('Again.'));
    await ended(world, (await begin(world, { prompt: 'More' })).run_id);
    const lines = await goOn(world);
    expect(lines.filter((line) => line.startsWith('tool'))).toHaveLength(3);
    expect(lines.at(-2)).toBe('assistant: Again.');
  });

  it('behind many runs that were cut, each in its own way', async () => {
    const world = await start(WEB);
    for (const answer of [calls(WAITS), STALLED, calls(WAITS)]) {
      world.answer(answer);
      const { run_id: runId } = await begin(world);
      const reader = eventsOf(world, runId);
      await heard(reader, ({ type }) => type === 'tool_progress' || type === 'text_delta');
      await control(world, runId, 'cancel').answered;
      await ended(world, runId);
    }
    const cancelled = matching(/^tool call_\w+: .*cancelled/i);
    expect(await goOn(world)).toEqual([
      'user: Go',
      'assistant: [call_1=waits]',
      cancelled,
      'user: Go',
      matching(/^assistant: Half/),
      'user: Go',
      matching(/^assistant: \[call_\w+=waits\]$/),
      cancelled,
      'user: Next',
    ]);
  });

  it('with the run that was parked, and then behind it', async () => {
    const world = await start(WEB);
    const { answer, go } = gated('Let me see.', callSteps(ECHO));
    world.answer(answer);
    const { run_id: runId } = await begin(world);
    await heard(eventsOf(world, runId), ({ type }) => type === 'text_delta');
    await control(world, runId, 'park').answered;
    go();
    await ended(world, runId);
    world.answer(says('Then so.'));
    const resumed = await control(world, runId, 'resume').json();
    await ended(world, String(resumed['run_id']));
    const pair = ['assistant: Let me see.[call_1=echo]', 'tool call_1: x'];
    expect(await sentLines(world.upstream, 1)).toEqual(['user: Go', ...pair]);
    expect(await goOn(world)).toEqual(['user: Go', ...pair, 'assistant: Then so.', 'user: Next']);
  });

  it('with a parked run that is cancelled once more in mid-tool', async () => {
    const world = await start(WEB);
    const { answer, go } = gated('Let me see.', callSteps(WAITS));
    world.answer(answer);
    const { run_id: runId } = await begin(world);
    await heard(eventsOf(world, runId), ({ type }) => type === 'text_delta');
    await control(world, runId, 'park').answered;
    go();
    await ended(world, runId);
    const next = String((await control(world, runId, 'resume').json())['run_id']);
    await heard(eventsOf(world, next), ({ type }) => type === 'tool_progress');
    await control(world, next, 'cancel').answered;
    expect(await ended(world, next)).toMatchObject({ state: 'cancelled' });
    expect(await goOn(world)).toEqual([
      'user: Go',
      'assistant: Let me see.[call_1=waits]',
      matching(/^tool call_1: .*cancelled/i),
      'user: Next',
    ]);
  });

  it('behind an approval that nobody gave in time', async () => {
    const toml = ASKS_FIRST.replace('"conversational" }', '"conversational", timeout_secs = 0.3 }');
    const world = await start({ ...WEB, toml });
    world.answer(calls(ECHO), says('Then not.'));
    const { run_id: runId } = await begin(world);
    expect(await ended(world, runId)).toMatchObject({ state: 'finished' });
    expect(await goOn(world)).toEqual([
      'user: Go',
      CALL,
      matching(/^tool call_1: .*timed out/),
      'assistant: Then not.',
      'user: Next',
    ]);
  });
});
