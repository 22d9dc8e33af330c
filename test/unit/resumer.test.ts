import { describe, expect, it } from 'vitest';
import { RunStateError } from '../../src/errors.ts';
import { createLog } from '../../src/log.ts';
import { Resumer } from '../../src/resumer.ts';

interface Asked {
  readonly runId: string;
  readonly tenant: string;
  readonly started: PromiseWithResolvers<{ over: Promise<void> }>;
  readonly over: PromiseWithResolvers<void>;
}

function world(concurrency = 1) {
  const asked: Asked[] = [];
  const levels: string[] = [];
  const write = (line: string) => void levels.push((JSON.parse(line) as { level: string }).level);
  const resumer = new Resumer({
    log: createLog({ level: 'info', destination: { write } }),
    concurrency,
    resume(runId, tenant) {
      const over = Promise.withResolvers<void>();
      const started = Promise.withResolvers<{ over: Promise<void> }>();
      asked.push({ runId, tenant, started, over });
      return started.promise;
    },
  });
  const ids = () => asked.map(({ runId }) => runId);
  return { resumer, asked, ids, levels };
}

const run = (runId: string) => ({ runId, sessionId: 'acme\u001fs' });
const turn = () => new Promise(setImmediate);

describe('the resumer', () => {
  it('starts one after the other, as many as may live at a time', async () => {
    const { resumer, asked, ids } = world(2);
    for (const id of ['r1', 'r2', 'r3']) resumer.add(run(id));
    expect(ids()).toEqual(['r1']);
    for (const { started, over } of asked) started.resolve({ over: over.promise });
    await turn();
    expect(ids()).toEqual(['r1', 'r2']);
    expect(asked[0]?.tenant).toBe('acme');
    asked[1]?.started.resolve({ over: asked[1].over.promise });
    await turn();
    expect(ids()).toEqual(['r1', 'r2']);
    asked[0]?.over.resolve();
    await turn();

    expect(ids()).toEqual(['r1', 'r2', 'r3']);
  });

  it('puts a run that is in line, or being started, in line no second time', async () => {
    const { resumer, asked, ids } = world(9);
    for (const id of ['r1', 'r1', 'r2', 'r1', 'r2']) resumer.add(run(id));
    for (let at = 0; at < 4; at += 1) {
      asked[at]?.started.resolve({ over: Promise.resolve() });
      await turn();
    }

    expect(ids()).toEqual(['r1', 'r2']);
  });

  it('takes a run again that did not come back', async () => {
    const { resumer, asked, ids, levels } = world();
    resumer.add(run('r1'));
    asked[0]?.started.reject(new Error('full'));
    await turn();
    resumer.add(run('r1'));

    expect(ids()).toEqual(['r1', 'r1']);
    expect(levels).toEqual(['warn']);
  });

  it('says nothing of a run that somebody else has resumed', async () => {
    const { resumer, asked, levels } = world();
    resumer.add(run('r1'));
    asked[0]?.started.reject(new RunStateError('already_resumed', 'It goes on.'));
    await turn();
    resumer.add(run('r2'));
    asked[1]?.started.reject(new RunStateError('not_parked', 'It has ended.'));
    await turn();

    expect(levels).toEqual(['warn']);
  });

  it('begins nothing once it is stopped', async () => {
    const { resumer, asked, ids } = world();
    resumer.add(run('r1'));
    resumer.add(run('r2'));
    resumer.stop();
    asked[0]?.started.resolve({ over: Promise.resolve() });
    await turn();
    resumer.add(run('r3'));

    expect(ids()).toEqual(['r1']);
  });
});
