import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type AnyActorLogic,
  type AnyActorRef,
  cancel,
  createActor,
  emit,
  fromPromise,
  raise,
  setup,
} from 'xstate';
import { poolOf } from '../../machines/pool.ts';
import { ROOT } from './architecture-sources.ts';

/**
 * Hazard: the product builds on parts of XState that its types leave out or do not promise. A new
 * version may change them without a word; then one of these tests fails, with the name of the part.
 */

const read = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Record<string, unknown>;

describe('the version of xstate', () => {
  it.each(['xstate', '@xstate/graph'])(
    'of %s is pinned exactly and is the one installed',
    (name) => {
      const manifest = read('package.json') as Record<string, Record<string, string> | undefined>;
      const wanted = manifest['dependencies']?.[name] ?? manifest['devDependencies']?.[name];
      expect(wanted).toMatch(/^\d+\.\d+\.\d+$/);
      expect(read(`node_modules/${name}/package.json`)['version']).toBe(wanted);
    },
  );
});

describe('the scheduler of a system', () => {
  const chart = setup({
    types: { events: {} as { type: 'late' } | { type: 'forget' } },
  }).createMachine({
    entry: raise({ type: 'late' }, { delay: 10, id: 'mine' }),
    after: { 20: {} },
    on: { forget: { actions: cancel('mine') } },
  });

  it('is a property of three functions that can be replaced', () => {
    const { system } = createActor(chart);
    expect(Object.keys(system.scheduler).toSorted()).toEqual(['cancel', 'cancelAll', 'schedule']);
    expect(Object.getOwnPropertyDescriptor(system, 'scheduler')?.writable).toBe(true);
  });

  it('is looked up at each use: for schedule, cancel and the end of an actor', () => {
    const used: string[] = [];
    const actor = createActor(chart);
    actor.system.scheduler = {
      schedule: (_source, _target, _event, delay, id) => used.push(`schedule ${delay} ${id}`),
      cancel: (_source, id) => used.push(`cancel ${id}`),
      cancelAll: (source) => used.push(`cancelAll ${source === actor}`),
    };
    actor.start().send({ type: 'forget' });
    actor.stop();
    expect(used).toContain('schedule 10 mine');
    expect(used.filter((use) => use.startsWith('schedule 20 '))).toHaveLength(1);
    expect(used).toContain('cancel mine');
    expect(used.at(-1)).toBe('cancelAll true');
  });

  it('gives a due event to the relay of the system', () => {
    const { system } = createActor(chart) as unknown as { system: { _relay: unknown } };
    expect(typeof system._relay).toBe('function');
  });

  it('lists nothing before the actor starts', () => {
    expect(createActor(chart).system.getSnapshot()._scheduledEvents).toEqual({});
  });
});

describe('an actor made with a parent', () => {
  const answering = setup({
    types: { emitted: {} as { type: 'first' }, events: {} as { type: 'begin' } },
  }).createMachine({
    initial: 'asleep',
    entry: emit({ type: 'first' }),
    states: { asleep: { on: { begin: 'done' } }, done: { type: 'final' } },
    output: 7,
  });
  const failing = fromPromise(() => Promise.reject(new Error('broken')));

  /** A pool as the root, so that what it relies on is seen through the pool itself. */
  function poolWith(child: AnyActorLogic) {
    const heard: string[] = [];
    const born: AnyActorRef[] = [];
    const pool = createActor(poolOf('test', child), {
      input: { parent: undefined },
      inspect: (event) => {
        if (event.type !== '@xstate.actor') return;
        const actor = event.actorRef as AnyActorRef;
        born.push(actor);
        heard.push(`born ${actor.id}`);
        actor.on('*', (fact: { type: string }) => heard.push(`fact ${fact.type}`));
      },
    });
    pool.start();
    const spawn = () =>
      pool.send({ type: 'pool.spawn', id: 'a', input: {}, begin: { type: 'begin' } });
    return { pool, heard, born, spawn };
  }

  it('belongs to the parent and to its system', () => {
    const { pool, born, spawn } = poolWith(failing);
    spawn();
    const child = born.at(-1) as AnyActorRef & { _parent?: AnyActorRef };
    expect(child._parent).toBe(pool);
    expect(child.system).toBe(pool.system);
    pool.stop();
  });

  it('is announced to the inspector before its first fact', () => {
    const { heard, spawn } = poolWith(answering);
    spawn();
    expect(heard.slice(heard.indexOf('born a'))).toContain('fact first');
  });

  it('tells its parent of its end by its id, with the output', () => {
    const { pool, spawn } = poolWith(answering);
    const ended: unknown[] = [];
    pool.on('pool.ended', (fact) => ended.push(fact));
    spawn();
    expect(ended).toEqual([{ type: 'pool.ended', id: 'a', output: 7 }]);
  });

  it('tells its parent of its crash by its id, and the parent lives', async () => {
    const { pool, spawn } = poolWith(failing);
    const crashed = new Promise((resolve) => {
      pool.on('pool.crashed', resolve);
    });
    spawn();
    expect(await crashed).toMatchObject({ id: 'a', error: { message: 'broken' } });
    expect(pool.getSnapshot().status).toBe('active');
  });

  it('is stopped through the scope of its parent', () => {
    const { pool, born, spawn } = poolWith(failing);
    spawn();
    pool.send({ type: 'pool.stop', id: 'a' });
    expect(born.at(-1)?.getSnapshot().status).toBe('stopped');
    expect(pool.getSnapshot().actors.size).toBe(0);
  });
});
