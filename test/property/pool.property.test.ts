import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PoolWorld } from '../support/pool-world.ts';

/**
 * Whatever is asked of a pool and in whatever order, also from inside its children, it holds the
 * children that a plain list would hold, and its parent hears the length of that list after each
 * change.
 */

type Asked =
  | { ask: 'spawn'; id: string }
  | { ask: 'note' | 'finish' | 'crash' | 'stop'; id: string }
  | { ask: 'noteAll' | 'finishAll' | 'crashAll' | 'stopAll' };

/** `by` is the child that asks; without it the asking comes from outside. */
type Stimulus = Asked & { by?: string };

const id = fc.constantFrom('a', 'b', 'c', 'd');

const asked: fc.Arbitrary<Asked> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ ask: fc.constant('spawn' as const), id }) },
  {
    weight: 4,
    arbitrary: fc.record({ ask: fc.constantFrom('note', 'finish', 'crash', 'stop'), id }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ ask: fc.constantFrom('noteAll', 'finishAll', 'crashAll', 'stopAll') }),
  },
);

const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  { weight: 3, arbitrary: asked },
  { weight: 1, arbitrary: fc.tuple(asked, id).map(([event, by]) => ({ ...event, by })) },
);

/** What the list and the parent's ear come to. */
class Expected {
  readonly live: string[] = [];
  readonly told: string[] = [];

  take(event: Stimulus): void {
    if (event.by !== undefined && !this.live.includes(event.by)) return;
    switch (event.ask) {
      case 'spawn':
        if (this.live.includes(event.id)) return;
        this.live.push(event.id);
        this.#tell('spawned', event.id);
        return;
      case 'finish':
        return this.#lose('ended', event.id);
      case 'crash':
        return this.#lose('crashed', event.id);
      case 'stop':
        return this.#lose('dropped', event.id);
      case 'finishAll':
        return this.#loseAll('ended');
      case 'crashAll':
        return this.#loseAll('crashed');
      case 'stopAll':
        return this.#loseAll('dropped');
      case 'note':
      case 'noteAll':
    }
  }

  #loseAll(how: string): void {
    for (const one of [...this.live]) this.#lose(how, one);
  }

  #lose(how: string, one: string): void {
    const at = this.live.indexOf(one);
    if (at < 0) return;
    this.live.splice(at, 1);
    this.#tell(how, one);
  }

  #tell(how: string, one: string): void {
    this.told.push(`pool.${how} ${one}`, `parent: ${this.live.length} live in kids`);
  }
}

const CHILD = {
  note: { type: 'child.note', note: 'hello' },
  finish: { type: 'child.finish' },
  crash: { type: 'child.crash' },
} as const;

function eventOf(world: PoolWorld, event: Asked): Parameters<PoolWorld['send']>[0] {
  switch (event.ask) {
    case 'spawn':
      return world.spawning(event.id);
    case 'note':
    case 'finish':
    case 'crash':
      return { type: 'pool.tell', id: event.id, event: CHILD[event.ask] };
    case 'stop':
      return { type: 'pool.stop', id: event.id };
    case 'noteAll':
      return { type: 'pool.tellAll', event: CHILD.note };
    case 'finishAll':
      return { type: 'pool.tellAll', event: CHILD.finish };
    case 'crashAll':
      return { type: 'pool.tellAll', event: CHILD.crash };
    case 'stopAll':
      return { type: 'pool.stopAll' };
  }
}

it('holds what a plain list would hold, after every step (PL1, PL2, PL3, PL4)', () => {
  fc.assert(
    fc.property(fc.array(stimulus, { maxLength: 40 }), (stimuli) => {
      const world = new PoolWorld();
      const expected = new Expected();
      for (const event of stimuli) {
        expected.take(event);
        const to = eventOf(world, event);
        if (event.by === undefined) world.send(to);
        else world.tell(event.by, { type: 'child.pass', to });
        expect(world.ids).toEqual(expected.live);
      }
      const told = world.news().filter((line) => /^(pool\.|parent)/.test(line));
      expect(told).toEqual(expected.told);
      expect(world.rootStatus).toBe('active');
      world.stop();
      expect(world.ids).toEqual([]);
    }),
  );
});
