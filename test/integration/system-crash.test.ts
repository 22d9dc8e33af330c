import { expect, it } from 'vitest';
import { checkJournal } from '../../src/journal/invariants.ts';
import { reply } from '../../src/testing/fake-upstream-steps.ts';
import { processWorlds } from '../support/system-process.ts';
import { readSessions } from '../support/system-store.ts';

/** A process that is killed. What somebody saw is in its store, and the next process goes on. */

const start = processWorlds();

it('keeps what a reader saw, starts again, and goes on densely in the old session', async () => {
  const world = await start();
  const words = Array.from({ length: 5_000 }, (_, at) => `${at} `);
  world.answer({ steps: reply({ text: words, everyMs: 1 }) });
  const chat = world.server.chat('s');
  await chat.until(({ text }) => text.includes('200 '));
  world.server.signal('SIGKILL');
  expect(await world.server.exit()).toEqual([null, 'SIGKILL']);
  await chat.closed;
  const seen = chat.text;

  const [before] = await readSessions(world.dataDir, 's');
  const kept = (before?.entries ?? []).map(({ payload }) =>
    payload.event.type === 'text_delta' ? payload.event.text : '',
  );
  expect(kept.join('').startsWith(seen)).toBe(true);
  expect(checkJournal(before?.entries ?? [])).toEqual([]);

  const server = await world.again();
  expect(await server.ask('/health').status()).toBe(200);
  world.answer({ steps: reply({ text: ['Elsewhere'] }) }, { steps: reply({ text: ['Back'] }) });
  const elsewhere = server.chat('t');
  await elsewhere.all();
  expect(elsewhere.text).toBe('Elsewhere');
  const back = server.chat('s');
  await back.all();
  expect(back.text).toBe('Back');
  server.signal('SIGTERM');
  expect(await server.exit()).toEqual([0, null]);

  const after = (await readSessions(world.dataDir)).find(({ id }) => id === 's');
  const seqs = after?.entries.map(({ seq }) => seq) ?? [];
  expect(seqs).toEqual(seqs.map((_, at) => at + 1));
  expect(after?.entries.slice(0, before?.entries.length)).toEqual(before?.entries);
  expect(after?.entries.at(-1)?.payload.event.type).toBe('finished');
}, 60_000);
