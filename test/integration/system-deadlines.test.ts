import { describe, expect, it } from 'vitest';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { delta, reply } from '../../src/testing/fake-upstream-steps.ts';
import { type SystemOptions, systemWorlds } from '../support/system-world.ts';

/** Each deadline, set small in the configuration: what the reader sees and what the record says. */

const start = systemWorlds();
const IN_SESSION = { 'X-Chat-Session-Id': 's' };
const timeouts = (...lines: string[]): string => `[runtime.timeouts]\n${lines.join('\n')}`;
const calling = (name: string): UpstreamAnswer => ({
  steps: reply({ toolCalls: [{ id: 'call_1', name, arguments: {} }] }),
});
const SILENT: UpstreamAnswer = { steps: [{ kind: 'stall' }] };
const STALLED: UpstreamAnswer = { steps: [delta({ content: 'Half' }), { kind: 'stall' }] };

interface Case {
  readonly which: string;
  readonly options: SystemOptions;
  readonly answer: UpstreamAnswer;
}

const CASES: readonly Case[] = [
  {
    which: 'first_chunk',
    options: { flags: { 'first-chunk-timeout-secs': '0.5' } },
    answer: SILENT,
  },
  {
    which: 'inactivity',
    options: { flags: { 'stream-inactivity-timeout-secs': '0.5' } },
    answer: STALLED,
  },
  {
    which: 'step',
    options: { toml: timeouts('step_secs = 0.6', 'step_allowance_secs = 0') },
    answer: STALLED,
  },
  { which: 'total', options: { toml: timeouts('total_secs = 0.8') }, answer: STALLED },
];

describe('a deadline', () => {
  it.each(CASES)(
    'of $which ends the stream and names itself',
    async ({ which, options, answer }) => {
      const world = await start(options);
      world.answer(answer);
      const chat = world.chat({}, IN_SESSION);
      await chat.all();
      expect(chat.error).toMatchObject({ code: `deadline_${which}`, type: 'deadline_exceeded' });
      const record = await world.ended('s');
      expect(record).toMatchObject({
        state: 'cancelled',
        end: { by: 'deadline', reason: 'deadline', which },
      });
      expect(await world.event('s', 'stopping')).toMatchObject({ cause: 'deadline', which });
      expect(await (await world.upstream.request(0)).answered).toBe('broken');
    },
  );

  it('of the step ends a run in the middle of its tool, and tells the tool’s server', async () => {
    const toml = timeouts('step_secs = 1.5', 'step_allowance_secs = 0', 'tool_secs = 0');
    const world = await start({ mcp: ['web'], toml });
    world.answer(calling('waits'));
    const chat = world.chat({}, IN_SESSION);
    await chat.all();
    expect(chat.error).toMatchObject({ code: 'deadline_step' });
    await world.web.until(() => world.web.cancelled.length > 0);
    expect(await world.event('s', 'tool_complete')).toMatchObject({ success: false });
  });

  it.each([
    { of: 'all tools', toml: timeouts('tool_secs = 0.6') },
    { of: 'this tool', toml: '[runtime.tools."wait?"]\ntimeout_secs = 0.6' },
  ])('of $of ends the call, and the model goes on (INV-31)', async ({ toml }) => {
    const world = await start({ mcp: ['web'], toml });
    world.answer(calling('waits'), { steps: reply({ text: ['Without it'] }) });
    const chat = world.chat({}, { ...IN_SESSION, 'X-Aura-Custom-Events': 'true' });
    await chat.all();
    expect(chat.text).toContain('Without it');
    expect(chat.finishReasons).toEqual(['stop']);
    expect(chat.data('aura.tool_complete')[0]).toMatchObject({ success: false });
    expect(world.web.cancelled).toHaveLength(1);
    expect(await world.ended('s')).toMatchObject({ state: 'finished' });
  });

  it('of inactivity does not count while a tool works or a person is asked', async () => {
    const world = await start({
      mcp: ['demo'],
      toml: '[hitl]\nrequire_approval = ["add"]\nroute = { mode = "conversational" }',
      flags: { 'stream-inactivity-timeout-secs': '1' },
    });
    const slow = { id: 'a', name: 'slow_count', arguments: { to: 1, delay_ms: 1_600 } };
    const gated = { id: 'b', name: 'add', arguments: { a: 1, b: 2 } };
    world.answer(
      { steps: reply({ toolCalls: [slow, gated] }) },
      { steps: reply({ text: ['Done'] }) },
    );
    const chat = world.chat({}, IN_SESSION);
    // The person answers only after the slow tool, so far beyond the window of silence.
    await world.event('s', 'tool_complete');
    const { decision_id: id } = await world.event('s', 'approval_pending');
    await world.ask(`/v1/approvals/${id}`, { method: 'POST', body: { approved: true } }).status();
    await chat.all();
    expect(chat.error).toBeUndefined();
    expect(chat.text).toContain('Done');
  });

  it('of first chunk and inactivity does not touch a request that is not streamed (decision 7)', async () => {
    const world = await start({
      toml: timeouts('total_secs = 0.8'),
      flags: { 'first-chunk-timeout-secs': '0.1', 'stream-inactivity-timeout-secs': '0.1' },
    });
    world.answer(SILENT);
    const chat = world.chat({ stream: false }, IN_SESSION);
    expect(await chat.status()).toBe(504);
    expect(await chat.json()).toMatchObject({ error: { code: 'deadline_total' } });
  });
});

describe('a setup that hangs', () => {
  const hanging = (toml: string): SystemOptions => ({
    mcp: ['web'],
    web: { intercept: ({ rpc }) => rpc === 'initialize' },
    toml,
  });

  it.each([true, false])('is 504 while nothing was sent (stream: %s) (INV-20)', async (stream) => {
    const world = await start(hanging(timeouts('setup_secs = 0.3')));
    const chat = world.chat({ stream }, IN_SESSION);
    expect(await chat.status()).toBe(504);
    expect(await chat.header('x-should-retry')).toBe('false');
    expect(await chat.json()).toMatchObject({ error: { code: 'deadline_setup' } });
    expect(await world.ended('s')).toMatchObject({ end: { reason: 'deadline', which: 'setup' } });
    expect(world.upstream.requests).toEqual([]);
  });

  it('is an error in the stream once the headers are out (decision 9)', async () => {
    const world = await start(hanging(timeouts('setup_secs = 2.5')));
    const chat = world.chat({}, IN_SESSION);
    expect(await chat.status()).toBe(200);
    await chat.all();
    expect(chat.error).toMatchObject({ code: 'deadline_setup' });
    expect(chat.body.startsWith(': heartbeat\n')).toBe(true);
    expect(chat.body.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('for one server costs the run that server’s tools alone (decision 8)', async () => {
    const toml = timeouts('setup_secs = 20', 'mcp_connect_secs = 0.5');
    const world = await start(hanging(toml));
    world.answer({ steps: reply({ text: ['Fine'] }) });
    const chat = world.chat({}, { ...IN_SESSION, 'X-Aura-Custom-Events': 'true' });
    await chat.all();
    expect(chat.text).toBe('Fine');
    expect(chat.data('aura.mcp_status')[0]).toMatchObject({
      servers: [{ server_name: 'web', status: 'failed', tools_count: 0 }],
    });
  });
});
