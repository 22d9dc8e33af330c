import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PoolWorld } from '../support/pool-world.ts';

/**
 * Hazard: the pool does by hand what XState does for a machine's children. A child that stays in
 * the map is a leak and a place that is never free again; a count that is told wrong makes a
 * shutdown leave too early or never.
 */

let world: PoolWorld;
beforeEach(() => {
  world = new PoolWorld();
});
afterEach(() => {
  world.stop();
  vi.restoreAllMocks();
});

const note = (what: string) => ({ type: 'child.note', note: what }) as const;

describe('pool: spawning', () => {
  it('tells of the child and counts it before the child lives and begins', () => {
    world.spawn('a');
    expect(world.news()).toEqual([
      'pool.spawned a',
      'parent: 1 live in kids',
      'a lives',
      'a begins',
    ]);
    expect(world.ids).toEqual(['a']);
  });

  it('puts the child into the system with the pool as its parent', () => {
    world.spawn('a');
    expect(world.child('a')?._parent).toBe(world.pool);
    expect(world.child('a')?.system).toBe(world.pool.system);
    expect(world.child('a')?.id).toBe('a');
  });

  it('refuses an id that is live, and the live child does not notice (PL1)', () => {
    world.spawn('a', { name: 'first' });
    const first = world.child('a');
    world.news();
    world.spawn('a', { name: 'second' });
    expect(world.news()).toEqual([]);
    expect(world.child('a')).toBe(first);
  });

  it('takes an id again once its child has ended (PL1)', () => {
    world.spawn('a', { name: 'first' });
    world.tell('a', { type: 'child.finish' });
    world.news();
    world.spawn('a', { name: 'second' });
    expect(world.news()).toContain('second begins');
    expect(world.ids).toEqual(['a']);
  });

  it('reaps a child that ends before it can begin (PL2)', () => {
    // XState's development build warns that nobody hears the begin, which is what this is about.
    vi.spyOn(console, 'warn').mockImplementationOnce(() => {});
    world.spawn('a', { stillborn: true });
    expect(world.news().filter((line) => /^(pool|parent)/.test(line))).toEqual([
      'pool.spawned a',
      'parent: 1 live in kids',
      'pool.ended a',
      'parent: 0 live in kids',
    ]);
    expect(world.ids).toEqual([]);
  });
});

describe('pool: telling', () => {
  it('reaches the child that is named and no other', () => {
    for (const id of ['a', 'b']) world.spawn(id);
    world.news();
    world.tell('b', note('hello'));
    expect(world.news()).toEqual(['b hears hello']);
  });

  it.each(['nobody', 'gone'])('does nothing for an id that names %s', (id) => {
    world.spawn('a');
    world.spawn('gone');
    world.tell('gone', { type: 'child.finish' });
    world.news();
    world.tell(id, note('hello'));
    expect(world.news()).toEqual([]);
    expect(world.rootStatus).toBe('active');
  });

  it('reaches every child, in the order they came', () => {
    for (const id of ['b', 'a', 'c']) world.spawn(id);
    world.news();
    world.send({ type: 'pool.tellAll', event: note('hello') });
    expect(world.news()).toEqual(['b hears hello', 'a hears hello', 'c hears hello']);
  });

  it('reaches every child though each ends at what it is told', () => {
    for (const id of ['a', 'b', 'c']) world.spawn(id);
    world.news();
    world.send({ type: 'pool.tellAll', event: { type: 'child.finish' } });
    const news = world.news();
    expect(news.filter((line) => line.endsWith('is gone'))).toHaveLength(3);
    expect(news.filter((line) => line.startsWith('p'))).toEqual([
      'pool.ended a',
      'parent: 2 live in kids',
      'pool.ended b',
      'parent: 1 live in kids',
      'pool.ended c',
      'parent: 0 live in kids',
    ]);
    expect(world.ids).toEqual([]);
  });

  it('takes what a child asks of the pool after what it is doing', () => {
    for (const id of ['a', 'b']) world.spawn(id);
    world.news();
    const to = { type: 'pool.tellAll', event: note('later') } as const;
    world.send({ type: 'pool.tellAll', event: { type: 'child.pass', to } });
    expect(world.news()).toEqual([
      'a hears later',
      'b hears later',
      'a hears later',
      'b hears later',
    ]);
  });

  it('leaves a child alone that was spawned while all were told', () => {
    world.spawn('a');
    world.news();
    const spawn = world.spawning('b');
    world.send({ type: 'pool.tellAll', event: { type: 'child.pass', to: spawn } });
    expect(world.news()).toEqual([
      'pool.spawned b',
      'parent: 2 live in kids',
      'b lives',
      'b begins',
    ]);
  });
});

describe('pool: children that end', () => {
  it('reaps one that is done and tells its output (PL2)', () => {
    for (const id of ['a', 'b']) world.spawn(id);
    world.news();
    world.tell('a', { type: 'child.finish' });
    expect(world.news()).toEqual(['a is gone', 'pool.ended a', 'parent: 1 live in kids']);
    expect(world.facts.at(-1)).toEqual({ type: 'pool.ended', id: 'a', output: 'a is done' });
    expect(world.ids).toEqual(['b']);
  });

  it('reaps one that crashes, tells its error, and leaves its siblings alone (PL2, PL3)', () => {
    for (const id of ['a', 'b']) world.spawn(id);
    world.news();
    world.tell('a', { type: 'child.crash' });
    expect(world.news()).toEqual(
      expect.arrayContaining(['pool.crashed a', 'parent: 1 live in kids']),
    );
    expect(world.facts.at(-1)).toMatchObject({ type: 'pool.crashed', id: 'a' });
    expect(world.facts.at(-1)).toHaveProperty('error.message', 'a planted crash');
    expect(world.ids).toEqual(['b']);
    expect(world.pool.getSnapshot().status).toBe('active');
    expect(world.rootStatus).toBe('active');
    world.news();
    world.tell('b', note('still there'));
    expect(world.news()).toEqual(['b hears still there']);
  });

  it('tells nothing twice when an end is told for an id that is not live', () => {
    world.spawn('a');
    world.tell('a', { type: 'child.finish' });
    world.news();
    // XState's own event, as a child that was dropped meanwhile would send it.
    world.pool.send({ type: 'xstate.done.actor.a', actorId: 'a', output: 'again' });
    expect(world.news()).toEqual([]);
  });
});

describe('pool: stopping', () => {
  it('drops the child that is named, without its own end (PL4)', () => {
    for (const id of ['a', 'b']) world.spawn(id);
    const dropped = world.child('a');
    world.news();
    world.send({ type: 'pool.stop', id: 'a' });
    expect(world.news()).toEqual(
      expect.arrayContaining(['a is gone', 'pool.dropped a', 'parent: 1 live in kids']),
    );
    expect(dropped?.getSnapshot().status).toBe('stopped');
    expect(world.facts.filter(({ type }) => type === 'pool.ended')).toEqual([]);
    expect(world.ids).toEqual(['b']);
  });

  it('does nothing for an id that is not live', () => {
    world.spawn('a');
    world.news();
    world.send({ type: 'pool.stop', id: 'b' });
    expect(world.news()).toEqual([]);
  });

  it('drops every child and counts down to none (PL4)', () => {
    for (const id of ['a', 'b', 'c']) world.spawn(id);
    world.news();
    world.send({ type: 'pool.stopAll' });
    const news = world.news();
    expect(news.filter((line) => line.startsWith('parent'))).toEqual(
      [2, 1, 0].map((live) => `parent: ${live} live in kids`),
    );
    expect(news.filter((line) => line.endsWith('is gone'))).toHaveLength(3);
    expect(world.ids).toEqual([]);
  });

  it('goes on: a pool whose children were stopped takes new ones', () => {
    world.spawn('a');
    world.send({ type: 'pool.stopAll' });
    world.spawn('a');
    expect(world.ids).toEqual(['a']);
    expect(world.news().at(-1)).toBe('a begins');
  });

  it.each([
    ['the state that owns it is left', () => world.leave()],
    ['the root is stopped', () => world.stop()],
  ])('stops every child when %s (PL4)', (_when, end) => {
    for (const id of ['a', 'b']) world.spawn(id);
    const children = [world.child('a'), world.child('b')];
    world.news();
    end();
    expect(children.map((child) => child?.getSnapshot().status)).toEqual(['stopped', 'stopped']);
    const gone = world.news().filter((line) => line.endsWith('is gone'));
    expect(gone).toEqual(['a is gone', 'b is gone']);
    expect(world.ids).toEqual([]);
    expect(world.pool.getSnapshot().status).toBe('stopped');
  });
});
