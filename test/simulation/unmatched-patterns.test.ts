import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import type { ServerStatus, ToolSource } from '../../src/tool.ts';
import { RunWorld, type RunWorldOptions } from '../support/run-world.ts';

/** A pattern with a typing error holds nothing back, so the log tells of it while that can be mended. */

function world(options: RunWorldOptions) {
  const warned: { patterns: string[]; tools: string[] }[] = [];
  const log = createLog({
    level: 'warn',
    destination: { write: (line) => void warned.push(JSON.parse(line)) },
  });
  return { world: new RunWorld({ log, ...options }), warned };
}

const TOOLS = ['delete_file'];

async function finish({ world }: { world: RunWorld }): Promise<void> {
  const run = await world.start({ sessionId: 'one' });
  world.model.turn.say('Hello.').finish();
  await world.clock.settle();
  expect(await run.record()).toMatchObject({ state: 'finished' });
}

const emptySource = (status: ServerStatus['status']): ToolSource => ({
  acquire: () =>
    Promise.resolve({
      tools: [],
      servers: [{ serverName: 'files', transport: 'stdio', status, toolsCount: 0 }],
      release: () => Promise.resolve(),
    }),
});

describe('patterns of what people must approve', () => {
  it('are told of once when they match no tool of the agent', async () => {
    const one = world({ tools: TOOLS, requireApproval: ['delete_*', 'delete-file'] });
    await finish(one);
    await finish(one);
    expect(one.warned).toMatchObject([{ patterns: ['delete-file'], tools: ['delete_file'] }]);
  });

  it('are not told of when each matches a tool', async () => {
    const one = world({ tools: TOOLS, requireApproval: ['delete_*'] });
    await finish(one);
    expect(one.warned).toEqual([]);
  });

  it('are not told of while a server with tools is away', async () => {
    const away = world({ requireApproval: ['read_*'], source: emptySource('failed') });
    await finish(away);
    expect(away.warned).toEqual([]);
    const there = world({ requireApproval: ['read_*'], source: emptySource('connected') });
    await finish(there);
    expect(there.warned).toMatchObject([{ patterns: ['read_*'] }]);
  });
});
