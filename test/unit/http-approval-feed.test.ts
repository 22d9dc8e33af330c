import { describe, expect, it } from 'vitest';
import type { ApprovalState } from '../../src/approval-item.ts';
import { ApprovalFeed, WAITING_BYTES_MAX } from '../../src/http/approval-feed.ts';
import { ApprovalFrames } from '../../src/http/approval-frames.ts';
import type { SseStream } from '../../src/http/sse.ts';
import { approvalItem as item } from '../support/approval-item.ts';

/**
 * Hazards: a reader that takes little makes the server keep every state that an approval has had; many
 * such readers make it keep each of them many times.
 */

function world({
  state,
  bufferBytesMax = 10_000,
  frames = new ApprovalFrames({ bytesMax: WAITING_BYTES_MAX }),
}: {
  state?: ApprovalState;
  bufferBytesMax?: number;
  frames?: ApprovalFrames;
} = {}) {
  const sent: string[] = [];
  let roomy = true;
  let overflows = 0;
  const stream = {
    send: (frame: string): boolean => {
      sent.push(frame);
      return roomy;
    },
  };
  const feed = new ApprovalFeed({
    state,
    bufferBytesMax,
    frames,
    onOverflow: () => void (overflows += 1),
  });
  return {
    feed,
    frames,
    // No more of a stream is used than this.
    open: () => feed.open(stream as unknown as SseStream),
    fill: () => void (roomy = false),
    drain: () => {
      roomy = true;
      feed.resume();
    },
    names: () =>
      sent.map((frame) => {
        const [, name] = /^event: (.*)$/m.exec(frame) ?? [];
        const [, data = ''] = /^data: (.*)$/m.exec(frame) ?? [];
        const { decision_id, state: at, pending } = JSON.parse(data) as Record<string, unknown>;
        return name === 'approval'
          ? `${String(decision_id).slice(-1)} ${String(at)}`
          : `ready ${String(pending)}`;
      }),
    overflows: () => overflows,
  };
}

describe('approval feed', () => {
  it('keeps what stands until it is opened, then marks the end of that', () => {
    const { feed, open, names } = world();
    feed.changed(item(1));
    feed.changed(item(2, { state: 'denied' }));
    expect(names()).toEqual([]);
    open();
    feed.changed(item(1, { state: 'approved' }));
    expect(names()).toEqual(['1 pending', '2 denied', 'ready 1', '1 approved']);
  });

  it('stops at a stream that is full, and goes on when it has room', () => {
    const { feed, open, fill, drain, names } = world();
    open();
    fill();
    for (const n of [1, 2, 3]) feed.changed(item(n));
    expect(names()).toEqual(['ready 0', '1 pending']);
    expect(feed.isSent).toBe(false);
    drain();
    expect(names()).toEqual(['ready 0', '1 pending', '2 pending', '3 pending']);
    expect(feed.isSent).toBe(true);
  });

  it('gives a slow reader the newest of each approval alone', () => {
    const { feed, open, fill, drain, names } = world();
    open();
    fill();
    feed.changed(item(9));
    feed.changed(item(1));
    feed.changed(item(2));
    feed.changed(item(1, { parked: true }));
    feed.changed(item(1, { state: 'approved' }));
    drain();
    expect(names().slice(2)).toEqual(['1 approved', '2 pending']);
  });

  it('bounds what waits behind what stood, and lets go of it', () => {
    const big = { arguments: 'x'.repeat(4_000) };
    const { feed, open, fill, overflows, names, drain } = world();
    for (const n of [1, 2, 3, 4, 5, 6]) feed.changed(item(n, big));
    fill();
    open();
    feed.changed(item(7, big));
    feed.changed(item(8, big));
    feed.changed(item(9, big));
    expect(overflows()).toBe(0);
    feed.changed(item(11, big));
    expect([overflows(), feed.isClosed]).toEqual([1, true]);
    feed.changed(item(10));
    drain();
    expect([overflows(), names()]).toEqual([1, ['1 pending']]);
  });

  it('is bound by the smaller number once the mark is out', () => {
    const big = { arguments: 'x'.repeat(4_000) };
    const { feed, open, fill, overflows } = world();
    for (const n of [1, 2, 3, 4, 5, 6]) feed.changed(item(n, big));
    open();
    fill();
    for (const n of [1, 2, 3]) feed.changed(item(n, big));
    expect(overflows()).toBe(0);
    feed.changed(item(4, big));
    expect(overflows()).toBe(1);
  });

  it('gives up on what no stream could bring, before there is one', () => {
    const huge = { arguments: 'x'.repeat(4_194_304) };
    const { feed, overflows } = world();
    for (let n = 1; n <= 15; n++) feed.changed(item(n, huge));
    expect(feed.isClosed).toBe(false);
    feed.changed(item(16, huge));
    expect([feed.isClosed, overflows()]).toEqual([true, 0]);
  });

  it('cuts the stream whose mark is the one frame too many', () => {
    const held = new ApprovalFrames({ bytesMax: WAITING_BYTES_MAX });
    const one = world({ frames: held });
    one.feed.changed(item(1));
    const frames = new ApprovalFrames({ bytesMax: held.bytes });
    const { feed, open, overflows, names } = world({ frames });
    feed.changed(item(1));
    expect([feed.isClosed, overflows()]).toEqual([false, 0]);
    open();
    expect([feed.isClosed, overflows(), names()]).toEqual([true, 1, []]);
  });

  it('counts the bytes of one approval once, however often it changes', () => {
    const big = { arguments: 'x'.repeat(4_000) };
    const { feed, open, fill, overflows } = world();
    open();
    fill();
    for (let change = 0; change < 50; change++) {
      feed.changed(item(1, big));
      feed.changed(item(2, big));
    }
    expect(overflows()).toBe(0);
  });

  it('gives one that is larger than the bound to a reader that has room', () => {
    const { feed, open, overflows, names } = world({ bufferBytesMax: 100 });
    open();
    feed.changed(item(1, { arguments: 'x'.repeat(10_000) }));
    expect([overflows(), names()]).toEqual([0, ['ready 0', '1 pending']]);
  });

  it('tells a reader of one state of what leaves it', () => {
    const { feed, open, names } = world({ state: 'pending' });
    feed.changed(item(1));
    feed.changed(item(2, { state: 'denied' }));
    open();
    feed.changed(item(1, { state: 'cancelled' }));
    feed.changed(item(1, { state: 'cancelled', reason: 'again' }));
    expect(names()).toEqual(['1 pending', 'ready 1', '1 cancelled']);
  });

  it('is idle when no approval of a live run is undecided and all is sent', () => {
    const { feed, open, fill, drain } = world();
    feed.changed(item(1));
    open();
    expect(feed.isIdle).toBe(false);
    feed.changed(item(1, { parked: true }));
    expect(feed.isIdle).toBe(true);
    fill();
    feed.changed(item(2, { state: 'approved' }));
    feed.changed(item(3, { state: 'approved' }));
    expect(feed.isIdle).toBe(false);
    drain();
    expect(feed.isIdle).toBe(true);
  });
});

describe('approval feeds of one server', () => {
  const big = (n: number) => item(n, { arguments: 'x'.repeat(4_000) });

  /** Readers whose streams are full when they have been told of `told`. */
  function slow(frames: ApprovalFrames, ...told: readonly number[]) {
    const made = world({ frames, bufferBytesMax: 1_000_000 });
    made.fill();
    made.open();
    for (const n of told) made.feed.changed(big(n));
    return made;
  }

  it('keep the same states once, however many wait for them and whoever looked them up', () => {
    const frames = new ApprovalFrames({ bytesMax: WAITING_BYTES_MAX });
    const readers = Array.from({ length: 50 }, () => slow(frames, 1, 2, 3, 4, 5));
    expect(frames.bytes).toBeLessThan(5 * 4_500 + 50 * 1_000);
    for (const { drain } of readers) drain();
    expect(readers.map(({ names }) => names().length)).toEqual(readers.map(() => 6));
    expect(frames.bytes).toBe(0);
  });

  it('cut the one for which most waits when all together keep too much', () => {
    const frames = new ApprovalFrames({ bytesMax: 30_000 });
    const few = slow(frames, 1, 2);
    const many = slow(frames, 3, 4, 5, 8);
    expect([few.overflows(), many.overflows()]).toEqual([0, 0]);
    few.feed.changed(big(6));
    expect([few.overflows(), many.overflows()]).toEqual([0, 1]);
    expect([few.feed.isClosed, many.feed.isClosed]).toEqual([false, true]);
    many.feed.changed(big(7));
    many.drain();
    few.drain();
    expect(few.names().slice(1)).toEqual(['1 pending', '2 pending', '6 pending']);
    expect([many.names(), frames.bytes]).toEqual([['ready 0'], 0]);
  });

  it('are bound each by what waits for it alone', () => {
    const frames = new ApprovalFrames({ bytesMax: WAITING_BYTES_MAX });
    slow(frames, 1, 2, 3, 4, 5);
    const { feed, fill, open, overflows } = world({ frames });
    feed.changed(big(6));
    fill();
    feed.changed(big(7));
    open();
    for (const n of [8, 9, 10]) feed.changed(big(n));
    expect(overflows()).toBe(0);
    feed.changed(big(11));
    expect(overflows()).toBe(1);
  });

  it('count one that is still being told how things stand', () => {
    const frames = new ApprovalFrames({ bytesMax: 15_000 });
    const open = slow(frames, 1);
    const coming = world({ frames });
    for (const n of [2, 3]) coming.feed.changed(big(n));
    expect(coming.feed.isClosed).toBe(false);
    coming.feed.changed(big(4));
    expect([coming.feed.isClosed, coming.overflows(), open.overflows()]).toEqual([true, 0, 0]);
  });

  it('let go of what waited for one that is closed', () => {
    const frames = new ApprovalFrames({ bytesMax: WAITING_BYTES_MAX });
    const [one, other] = [slow(frames, 1, 2), slow(frames, 2, 3)];
    one.feed.close();
    other.drain();
    expect([other.names().slice(1), frames.bytes]).toEqual([['2 pending', '3 pending'], 0]);
  });
});
