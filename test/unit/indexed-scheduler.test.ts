import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnyActorRef, createActor, fromTransition, setup } from 'xstate';
import type { Clock, TimerHandle } from '../../src/clock.ts';
import { indexScheduler } from '../../src/indexed-scheduler.ts';

/**
 * Hazard: XState looks its timers up by source and id, an id may be used again while its first
 * timer runs, and a timer that fires late finds whatever was scheduled since. A scheduler that is
 * only nearly the same loses or doubles a deadline, which no other test would notice.
 */

interface ManualClock extends Clock {
  advance(ms: number): void;
  readonly armed: number;
}

/** Fires in order of time, then of arming, as Node does. */
function manualClock(): ManualClock {
  const timers = new Map<TimerHandle, { at: number; fn: () => void }>();
  let now = 0;
  const due = (until: number) =>
    [...timers].filter(([, { at }]) => at <= until).sort(([, a], [, b]) => a.at - b.at)[0];
  return {
    now: () => now,
    setTimeout(fn, ms) {
      const handle: TimerHandle = { cancel: () => timers.delete(handle) };
      timers.set(handle, { at: now + ms, fn });
      return handle;
    },
    clearTimeout: (handle) => handle?.cancel(),
    advance(ms) {
      const until = now + ms;
      for (let next = due(until); next !== undefined; next = due(until)) {
        const [handle, { at, fn }] = next;
        timers.delete(handle);
        now = at;
        fn();
      }
      now = until;
    },
    get armed() {
      return timers.size;
    },
  };
}

type Command =
  | { do: 'schedule'; source: number; target: number; id: string | undefined; delay: number }
  | { do: 'cancel'; source: number; id: string }
  | { do: 'cancelAll'; source: number }
  | { do: 'advance'; ms: number };

const SOURCES = 3;
const source = fc.integer({ min: 0, max: SOURCES - 1 });
const id = fc.constantFrom('a', 'b', 'c');

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('schedule' as const),
      source,
      target: source,
      id: fc.option(id, { nil: undefined, freq: 6 }),
      delay: fc.integer({ min: 0, max: 20 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cancel' as const), source, id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancelAll' as const), source }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      ms: fc.integer({ min: 0, max: 12 }),
    }),
  },
);

interface World {
  readonly clock: ManualClock;
  readonly actors: readonly AnyActorRef[];
  /** `time target event` of each delivery, in order. */
  readonly heard: string[];
}

function world(options: { indexed: boolean }): World {
  const clock = manualClock();
  const heard: string[] = [];
  const logic = (name: string) =>
    fromTransition((state: null, event: { type: string }) => {
      heard.push(`${clock.now()} ${name} ${event.type}`);
      return state;
    }, null);
  const root = createActor(logic('root'), { clock });
  if (options.indexed) indexScheduler(root, clock);
  root.start();
  const actors = Array.from({ length: SOURCES }, (_, index) =>
    createActor(logic(`actor ${index}`), { parent: root, id: `actor-${index}` }).start(),
  );
  return { clock, actors, heard };
}

function apply({ clock, actors }: World, step: Command, serial: number): void {
  const actor = (index: number): AnyActorRef => actors[index] as AnyActorRef;
  if (step.do === 'advance') return clock.advance(step.ms);
  const from = actor(step.source);
  const { scheduler } = from.system;
  if (step.do === 'cancelAll') scheduler.cancelAll(from);
  else if (step.do === 'cancel') scheduler.cancel(from, step.id);
  else {
    const event = { type: `event ${serial}` };
    scheduler.schedule(from, actor(step.target), event, step.delay, step.id);
  }
}

describe('indexed scheduler', () => {
  it('delivers what the scheduler of XState delivers, in the same order', () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const worlds = [world({ indexed: false }), world({ indexed: true })] as const;
        const [own, indexed] = worlds;
        for (const [serial, step] of commands.entries()) {
          for (const one of worlds) apply(one, step, serial);
          expect(indexed.heard).toEqual(own.heard);
          expect(indexed.clock.armed).toBe(own.clock.armed);
        }
        for (const one of worlds) one.clock.advance(100);
        expect(indexed.heard).toEqual(own.heard);
      }),
      { numRuns: 500 },
    );
  });

  it('fires the delayed transitions of a chart and forgets those of a state that was left', () => {
    const chart = setup({
      types: { events: {} as { type: 'leave' } },
    }).createMachine({
      initial: 'waiting',
      states: {
        waiting: { after: { 10: 'late' }, on: { leave: 'moved' } },
        moved: { after: { 30: 'done' } },
        late: {},
        done: { type: 'final' },
      },
    });
    const clock = manualClock();
    const actor = createActor(chart, { clock });
    indexScheduler(actor, clock);
    actor.start();
    clock.advance(9);
    actor.send({ type: 'leave' });
    expect(clock.armed).toBe(1);
    clock.advance(29);
    expect(actor.getSnapshot().value).toBe('moved');
    clock.advance(1);
    expect(actor.getSnapshot().value).toBe('done');
  });

  it('leaves no timer behind when an actor stops', () => {
    const { clock, actors } = world({ indexed: true });
    const [first, second] = actors as [AnyActorRef, AnyActorRef];
    const { scheduler } = first.system;
    scheduler.schedule(first, second, { type: 'one' }, 10, undefined);
    scheduler.schedule(first, second, { type: 'two' }, 10, undefined);
    scheduler.schedule(second, first, { type: 'three' }, 10, undefined);
    scheduler.cancelAll(first);
    expect(clock.armed).toBe(1);
  });

  it('refuses an actor that has a timer running', () => {
    const clock = manualClock();
    const chart = setup({}).createMachine({ after: { 10: {} } });
    const actor = createActor(chart, { clock }).start();
    expect(() => indexScheduler(actor, clock)).toThrow('before the actor starts');
  });

  it('refuses an XState whose scheduler it does not know', () => {
    const actor = createActor(setup({}).createMachine({}));
    Object.assign(actor.system, { _relay: undefined });
    expect(() => indexScheduler(actor, manualClock())).toThrow('pin the tested version');
  });
});
