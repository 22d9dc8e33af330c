import { describe, expect, it } from 'vitest';
import { GateWatch } from '../../src/http/gate-watch.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

function gate() {
  const clock = createVirtualClock();
  const handle = { accepting: true };
  return { clock, handle, watch: new GateWatch({ handle, clock }) };
}

describe('watch of the gate', () => {
  it('is silent while the server accepts, and tells all of it again and again afterwards', async () => {
    const { clock, handle, watch } = gate();
    const told: string[] = [];
    watch.watch(() => told.push('a'));
    watch.watch(() => told.push('b'));
    await clock.advance(10_000);
    expect(told).toEqual([]);
    handle.accepting = false;
    await clock.advance(1_000);
    expect(told).toEqual(['a', 'b', 'a', 'b']);
  });

  it('has one timer for all of its watchers, and none without', () => {
    const { clock, watch } = gate();
    const stops = [() => {}, () => {}, () => {}].map((fn) => watch.watch(fn));
    expect(clock.pending).toHaveLength(1);
    for (const stop of [...stops, ...stops]) stop();
    expect(clock.pending).toEqual([]);
  });

  it('watches again after a while without watchers', async () => {
    const { clock, handle, watch } = gate();
    watch.watch(() => {})();
    let told = 0;
    watch.watch(() => told++);
    handle.accepting = false;
    await clock.advance(500);
    expect(told).toBe(1);
  });

  it('leaves a watcher alone that stops while the others are told', async () => {
    const { clock, handle, watch } = gate();
    const stop = watch.watch(() => stop());
    handle.accepting = false;
    await clock.advance(500);
    expect(clock.pending).toEqual([]);
  });
});
