import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';
import { RunWorld, type RunWorldOptions } from '../support/run-world.ts';

/**
 * With `checkInvariants` a run whose journal is wrong is stopped as failed, or given up where it parked, and
 * the log says why. The journal is made wrong on its way back from the store: what was written is right.
 */

const GATED: RunWorldOptions = { tools: ['danger'], requireApproval: ['danger'] };

/** A supervisor that reads another text than it wrote, until the lie ends. */
function lyingWorld(from: string, to: string, options: RunWorldOptions = GATED) {
  const lie = { isTold: true };
  const logged: Record<string, unknown>[] = [];
  const log = createLog({
    level: 'error',
    destination: { write: (line: string) => void logged.push(JSON.parse(line)) },
  });
  const store = liar(createMemoryStore(), (line) =>
    lie.isTold ? line.replaceAll(from, to) : line,
  );
  const world = new RunWorld({ ...options, store, log, checkInvariants: true });
  return { world, lie, logged };
}

const liar = (store: Store, tell: (line: string) => string): Store =>
  new Proxy(store, {
    get: (target, key) => {
      if (key === 'close') return () => {};
      if (key === 'read') {
        return async (...args: Parameters<Store['read']>) => {
          const page = await target.read(...args);
          return { ...page, lines: page.lines.map(tell) };
        };
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

describe('a run whose journal breaks an invariant', () => {
  it('is stopped as failed while its gated tool runs without an approval', async () => {
    const { world, lie, logged } = lyingWorld('"kind":"approved"', '"kind":"denied"');
    const run = await world.start();
    world.model.turn.call('danger', {}, 'call').finish('tool_calls');
    await world.clock.settle();
    const [id = ''] = (await run.record()).approvals;
    await Promise.all([world.supervisor.decide(id, { approved: true }), world.clock.settle()]);
    await world.clock.settle();

    expect(world.tools.executions[0]?.context.signal.aborted).toBe(true);
    world.tools.executions[0]?.answer('late');
    await world.clock.settle();
    lie.isTold = false;
    const { state, end } = await run.record();
    expect(state).toBe('failed');
    expect(end).toMatchObject({ by: 'supervisor', error: { code: 'invariant_violated' } });
    const evidence = expect.arrayContaining([expect.stringMatching(/tool_start/)]);
    expect(logged[0]).toMatchObject({ run_id: run.runId, evidence });
    expect(new Set(logged.map(({ because }) => because)).size).toBe(logged.length);
    await world.expectSound();
  });

  it('is given up when it had parked before it heard of that', async () => {
    const { world, lie } = lyingWorld(
      '"type":"claims_exhausted","grace_ms":0',
      '"type":"claims_exhausted","grace_ms":7',
    );
    const run = await world.start({ liveness: { policy: 'park', graceMs: 0 } });
    world.model.turn.call('danger', {}, 'call').finish('tool_calls');
    await world.clock.settle();
    await run.release();
    await world.clock.settle();
    lie.isTold = false;

    expect(await run.record()).toMatchObject({ approvals: [], verbs: ['attach'] });
    await expect(world.supervisor.resume(run.runId, {})).rejects.toMatchObject({
      code: 'not_parked',
    });
  });

  it('goes on where nobody checks', async () => {
    const { world, lie, logged } = lyingWorld('"kind":"approved"', '"kind":"denied"');
    const unchecked = new RunWorld({ ...GATED, store: world.store });
    const run = await unchecked.start();
    unchecked.model.turn.call('danger', {}, 'call').finish('tool_calls');
    await unchecked.clock.settle();
    const [id = ''] = (await run.record()).approvals;
    await Promise.all([
      unchecked.supervisor.decide(id, { approved: true }),
      unchecked.clock.settle(),
    ]);
    await unchecked.clock.settle();
    expect(unchecked.tools.executions[0]?.context.signal.aborted).toBe(false);
    lie.isTold = false;
    expect(logged).toEqual([]);
  });
});

describe('a run whose journal is right', () => {
  it('is not touched by being checked, parked and resumed', async () => {
    const logged: string[] = [];
    const log = createLog({
      level: 'warn',
      destination: { write: (line) => void logged.push(line) },
    });
    const world = new RunWorld({ ...GATED, log, checkInvariants: true });
    const run = await world.start({ liveness: { policy: 'park', graceMs: 0 } });
    world.model.turn.call('danger', {}, 'call').finish('tool_calls');
    await world.clock.settle();
    const [id = ''] = (await run.record()).approvals;
    await run.release();
    await world.clock.settle();
    await Promise.all([world.supervisor.decide(id, { approved: true }), world.clock.settle()]);
    const next = await world.continuationOf(run);
    world.tools.executions[0]?.answer('done');
    await world.clock.settle();
    world.model.turn.say('Good.').finish();
    await world.clock.settle();

    expect(await next.record()).toMatchObject({ state: 'finished' });
    expect(logged).toEqual([]);
    await world.expectSound();
  });
});
