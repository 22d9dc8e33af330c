import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import {
  callSteps,
  control,
  ECHO,
  ended,
  gated,
  recordOf,
  refusal,
  says,
  STALLED,
} from '../support/api-kit.ts';
import { resumed } from '../support/api-runs.ts';
import type { Exchange } from '../support/system-client.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from '../support/system-world.ts';

/** A chat client beside the runs API: its run is a run like any other. */

const start = systemWorlds();
const IN_SESSION = { 'X-Chat-Session-Id': 's' };
const onBusy = (chat: string): SystemOptions => ({ toml: `[runtime.on_busy]\nchat = "${chat}"` });

const chatOf = (world: SystemWorld, content: string, body: object = {}): Exchange =>
  world.chat({ messages: [{ role: 'user', content }], ...body }, IN_SESSION);

/** A chat that has been answered with "a", and with the rest when `go` is called. */
async function chatting(options: SystemOptions, rest = reply({ text: ['!'] })) {
  const world = await start(options);
  const { answer, go } = gated('a', rest);
  world.answer(answer);
  const chat = chatOf(world, 'First');
  await chat.until(({ text }) => text === 'a');
  return { world, chat, runId: await chat.runId(), go };
}

/** What a chat says at its end, or the code of its error; one whose stream never began is an HTTP error. */
async function endOf(chat: Exchange): Promise<unknown> {
  await chat.all();
  if ((await chat.status()) !== 200) return (await refusal(chat))[1];
  return chat.error?.['code'] ?? chat.text;
}

describe('a chat whose run is parked by hand', () => {
  it('is told run_parked, and the run that goes on is read in the runs API', async () => {
    const { world, chat, runId, go } = await chatting({ mcp: ['web'] }, callSteps(ECHO));
    await control(world, runId, 'park').answered;
    go();
    await chat.all();
    expect(chat.error).toMatchObject({ code: 'run_parked' });
    expect(chat.finishReasons).toEqual([]);
    expect(chat.body.endsWith('data: [DONE]\n\n')).toBe(true);
    world.answer(says('Then.'));
    const next = await resumed(world, runId);
    expect(await ended(world, next)).toMatchObject({ state: 'finished', continues: runId });
  });

  it('is 409 run_parked without a stream, not to be sent again', async () => {
    const world = await start({ mcp: ['web'] });
    const { answer, go } = gated('a', callSteps(ECHO));
    world.answer(answer);
    const chat = chatOf(world, 'First', { stream: false });
    const { run_id: runId } = await world.entry('s', ({ type }) => type === 'text_delta');
    await control(world, String(runId), 'park').answered;
    go();
    expect(await refusal(chat)).toEqual([409, 'run_parked']);
    expect(await chat.header('x-should-retry')).toBe('false');
  });
});

describe('a chat that waits for its session', () => {
  it('is answered when its turn has come', async () => {
    const { world, chat, go } = await chatting(onBusy('enqueue'));
    world.answer(says('Second.'));
    const second = chatOf(world, 'Second');
    await world.event('s', 'queued');
    expect(world.upstream.requests).toHaveLength(1);
    go();
    await Promise.all([chat.all(), second.all()]);
    expect([chat.text, second.text]).toEqual(['a!', 'Second.']);
    expect(second.finishReasons).toEqual(['stop']);
  });

  it('and is left never starts', async () => {
    const { world, chat, go } = await chatting(onBusy('enqueue'));
    const second = chatOf(world, 'Second');
    const { run_id: id } = await world.entry('s', ({ type }) => type === 'queued');
    await second.leave();
    expect(await ended(world, String(id))).toMatchObject({
      state: 'cancelled',
      started_at: null,
      end: { reason: 'unclaimed' },
    });
    go();
    await chat.all();
    expect(world.upstream.requests).toHaveLength(1);
  });

  it('and is cancelled is told so', async () => {
    const { world, chat, go } = await chatting(onBusy('enqueue'));
    const second = chatOf(world, 'Second', { stream: false });
    const { run_id: id } = await world.entry('s', ({ type }) => type === 'queued');
    await control(world, String(id), 'cancel').answered;
    expect(await refusal(second)).toEqual([409, 'run_cancelled']);
    go();
    await chat.all();
    expect(chat.text).toBe('a!');
  });
});

describe('a chat that interrupts', () => {
  it('ends the one before it, with run_superseded for its reader', async () => {
    const { world, chat, runId } = await chatting(onBusy('interrupt'));
    world.answer(says('Second.'));
    const second = chatOf(world, 'Second');
    await Promise.all([chat.all(), second.all()]);
    expect(chat.error).toMatchObject({ code: 'run_superseded' });
    expect(second.text).toBe('Second.');
    expect(await recordOf(world, runId)).toMatchObject({ end: { reason: 'superseded' } });
  });

  it('of three leaves the last', async () => {
    const world = await start(onBusy('interrupt'));
    world.answer(STALLED, says('Last.'));
    const first = chatOf(world, 'First');
    await first.until(({ text }) => text === 'Half');
    const [second, third] = [chatOf(world, 'Second'), chatOf(world, 'Third')];
    const ends = await Promise.all([first, second, third].map(endOf));
    expect(ends.map(String).toSorted()).toEqual(['Last.', 'run_superseded', 'run_superseded']);
  });
});

describe('HEAD of a stream', () => {
  it('has its headers, claims nothing and ends', async () => {
    const { world, chat, runId, go } = await chatting({});
    for (const path of [`/v1/runs/${runId}/events?claim=true`, '/v1/sessions/s/events']) {
      const head = world.ask(path, { method: 'HEAD' });
      expect(await head.status()).toBe(200);
      expect(await head.header('content-type')).toContain('text/event-stream');
      await head.all();
    }
    expect(await recordOf(world, runId)).toMatchObject({ claims: [{}], observers: 0 });
    go();
    await chat.all();
  });
});
