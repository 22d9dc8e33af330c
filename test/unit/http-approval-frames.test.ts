import { describe, expect, it } from 'vitest';
import { ApprovalFrames, type FrameHolder } from '../../src/http/approval-frames.ts';
import { approvalItem as item } from '../support/approval-item.ts';

/** Hazard: bytes that are counted and not given back would cut readers for nothing, for ever. */

const PLACE_BYTES = 128;

function world(bytesMax = 1_000_000) {
  const frames = new ApprovalFrames({ bytesMax });
  const gaveUp: string[] = [];
  /** Lets go of what it holds when it gives up, as it must. */
  const holder = (name: string, ...ids: readonly number[]): FrameHolder => {
    const held = ids.map((n) => frames.of(item(n)));
    const self: FrameHolder = {
      giveUp: () => {
        gaveUp.push(name);
        for (const frame of held) frames.release(frame, self);
      },
    };
    for (const frame of held) frames.hold(frame, self);
    return self;
  };
  return { frames, gaveUp, holder };
}

describe('frames of approvals', () => {
  it('are the approval as one event', () => {
    const { frames } = world();
    const { id, text, bytes } = frames.of(item(1, { reason: 'zoë' }));
    expect(id).toBe(item(1).decision_id);
    expect(text).toBe(`event: approval\ndata: ${JSON.stringify(item(1, { reason: 'zoë' }))}\n\n`);
    expect(bytes).toBe(text.length + 1);
  });

  it('are made once of an item that is told to many', () => {
    const { frames } = world();
    const told = item(1);
    expect(frames.of(told)).toBe(frames.of(told));
  });

  it('are one for the same state that was looked up twice, while somebody waits for it', () => {
    const { frames, holder } = world();
    const one = holder('one', 1);
    const frame = frames.of(item(1));
    expect(frames.of(item(1))).toBe(frame);
    expect(frames.of(item(1, { reason: 'other' }))).not.toBe(frame);
    one.giveUp();
    expect(frames.of(item(1))).not.toBe(frame);
  });

  it('stay shared when an older state of the same approval is let go of', () => {
    const { frames } = world();
    const [older, newer] = [frames.of(item(1)), frames.of(item(1, { state: 'denied' }))];
    const reader: FrameHolder = { giveUp: () => {} };
    frames.hold(older, reader);
    frames.hold(newer, reader);
    frames.release(older, reader);
    expect(frames.of(item(1, { state: 'denied' }))).toBe(newer);
  });

  it('count once, with a place for each who waits, until the last lets go', () => {
    const { frames, holder } = world();
    const { bytes } = frames.of(item(1));
    const one = holder('one', 1);
    const other = holder('other', 1);
    expect(frames.bytes).toBe(bytes + 2 * PLACE_BYTES);
    expect([frames.heldBy(one), frames.heldBy(other)]).toEqual([bytes, bytes]);
    one.giveUp();
    expect([frames.bytes, frames.heldBy(one)]).toEqual([bytes + PLACE_BYTES, 0]);
    other.giveUp();
    expect(frames.bytes).toBe(0);
  });

  it('make whoever waits for most give up, until the rest may wait', () => {
    const { bytes } = world().frames.of(item(1));
    const { frames, gaveUp, holder } = world(3 * (bytes + PLACE_BYTES));
    holder('two', 1, 2);
    holder('three', 3, 4, 5);
    holder('one', 6);
    frames.makeRoom();
    expect([gaveUp, frames.bytes]).toEqual([['three'], 3 * (bytes + PLACE_BYTES)]);
    frames.makeRoom();
    expect(gaveUp).toEqual(['three']);
  });

  it('make all give up who wait for the same, where only that makes room', () => {
    const { bytes } = world().frames.of(item(1));
    const { frames, gaveUp, holder } = world(2 * (bytes + PLACE_BYTES));
    holder('one', 1, 2, 3);
    holder('other', 1, 2, 3);
    holder('small', 4);
    frames.makeRoom();
    expect(gaveUp).toEqual(['one', 'other']);
  });
});
