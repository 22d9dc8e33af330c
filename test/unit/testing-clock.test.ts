import { describe, expect, it } from 'vitest';
import { TIMER_MS_MAX } from '../../src/clock.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

describe('virtual clock', () => {
  it('fires timers in the order they are due, whatever the order they were armed in', async () => {
    const clock = createVirtualClock(1_000);
    const fired: string[] = [];
    clock.setTimeout(() => fired.push(`late at ${clock.now()}`), 30);
    clock.setTimeout(() => fired.push(`early at ${clock.now()}`), 10);
    clock.setTimeout(() => fired.push(`also early at ${clock.now()}`), 10);
    await clock.advance(30);
    expect(fired).toEqual(['early at 1010', 'also early at 1010', 'late at 1030']);
  });

  it('leaves a timer that is due later, and says when it is due', async () => {
    const clock = createVirtualClock(5);
    clock.setTimeout(() => {}, 20);
    await clock.advance(19);
    expect(clock.pending).toMatchObject([{ armedAt: 5, delayMs: 20, dueAt: 25 }]);
    expect(clock.now()).toBe(24);
  });

  it('lets timers that are armed meanwhile take part, also by a promise', async () => {
    const clock = createVirtualClock();
    const fired: number[] = [];
    const again = async () => {
      fired.push(clock.now());
      await Promise.resolve();
      await new Promise((resolve) => setImmediate(resolve));
      clock.setTimeout(() => void again(), 10);
    };
    clock.setTimeout(() => void again(), 10);
    await clock.advance(35);
    expect(fired).toEqual([10, 20, 30]);
  });

  it('drains pending work before it lets time pass', async () => {
    const clock = createVirtualClock();
    let fired = false;
    void Promise.resolve().then(() => clock.setTimeout(() => (fired = true), 10));
    await clock.advance(10);
    expect(fired).toBe(true);
  });

  it('never fires a timer that was cleared, by the clock or by its handle', async () => {
    const clock = createVirtualClock();
    const fired: string[] = [];
    clock.clearTimeout(clock.setTimeout(() => fired.push('cleared'), 1));
    clock.setTimeout(() => fired.push('cancelled'), 1).cancel();
    clock.clearTimeout(undefined);
    await clock.advance(10);
    expect(fired).toEqual([]);
    expect(clock.pending).toEqual([]);
  });

  it('never fires an infinite delay and does not count it as pending', async () => {
    const clock = createVirtualClock();
    let fired = false;
    clock.setTimeout(() => (fired = true), Number.POSITIVE_INFINITY);
    await clock.advance(Number.MAX_SAFE_INTEGER);
    expect(fired).toBe(false);
    expect(clock.pending).toEqual([]);
  });

  it('waits out a delay that is longer than what a Node timer holds', async () => {
    const clock = createVirtualClock();
    let fired = false;
    clock.setTimeout(() => (fired = true), TIMER_MS_MAX + 1);
    await clock.advance(TIMER_MS_MAX);
    expect(fired).toBe(false);
    await clock.advance(1);
    expect(fired).toBe(true);
  });

  it('takes a delay below zero for one that is due now', async () => {
    const clock = createVirtualClock(100);
    clock.setTimeout(() => {}, -5);
    expect(clock.pending).toMatchObject([{ dueAt: 100 }]);
    await clock.advance(0);
    expect(clock.pending).toEqual([]);
  });

  it('refuses a delay that is not a number, where a Node timer would fire at once', () => {
    const clock = createVirtualClock();
    expect(() => clock.setTimeout(() => {}, Number.NaN)).toThrow('A delay is a number');
    expect(() => clock.setTimeout(() => {}, undefined as never)).toThrow('A delay is a number');
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('refuses to advance by %s', async (ms) => {
    await expect(createVirtualClock().advance(ms)).rejects.toThrow(
      'Time passes by a finite number',
    );
  });

  it('reports a timer that re-arms itself without delay instead of hanging', async () => {
    const clock = createVirtualClock();
    const again = () => void clock.setTimeout(again, 0);
    again();
    await expect(clock.advance(1)).rejects.toThrow('timers fired in 1 ms');
  });

  it('passes on what a timer throws', async () => {
    const clock = createVirtualClock();
    clock.setTimeout(() => {
      throw new Error('from the timer');
    }, 1);
    await expect(clock.advance(1)).rejects.toThrow('from the timer');
  });

  it('fires one timer ahead of others and moves on to its due time', () => {
    const clock = createVirtualClock();
    const fired: string[] = [];
    clock.setTimeout(() => fired.push('first'), 10);
    clock.setTimeout(() => fired.push('second'), 20);
    const second = clock.pending[1];
    clock.fire(second!);
    expect(fired).toEqual(['second']);
    expect(clock.now()).toBe(20);
    expect(() => clock.fire(second!)).toThrow('Only a pending timer');
  });
});
