import { describe, expect, it } from 'vitest';
import { RequestRate } from '../../src/http/auth/request-rate.ts';

/** A limit, and a clock that a test sets. */
function limited(perMinuteMax: number) {
  let nowMs = 1_700_000_000_000;
  const rate = new RequestRate(perMinuteMax, { now: () => nowMs });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  const admit = (times: number) => Array.from({ length: times }, () => rate.admit());
  return { pass, admit };
}

describe('the rate of requests', () => {
  it('is not bounded by 0', () => {
    expect(new Set(limited(0).admit(10_000))).toEqual(new Set([0]));
  });

  it('lets as many through as it says, and tells the next one when to come back', () => {
    const { admit, pass } = limited(3);
    expect(admit(4)).toEqual([0, 0, 0, 61]);
    pass(30_500);
    expect(admit(1)).toEqual([31]);
    pass(30_499);
    expect(admit(1)).toEqual([1]);
    pass(1);
    expect(admit(4)).toEqual([0, 0, 0, 61]);
  });

  it('frees places as their requests grow old, one by one (R1)', () => {
    const { admit, pass } = limited(2);
    admit(1);
    pass(20_000);
    expect(admit(2)).toEqual([0, 41]);
    pass(41_000);
    expect(admit(2)).toEqual([0, 20]);
  });

  it('does not count what it refuses (R2)', () => {
    const { admit, pass } = limited(1);
    expect(admit(1_000).slice(0, 2)).toEqual([0, 61]);
    pass(61_000);
    expect(admit(2)).toEqual([0, 61]);
  });

  it('goes on where the clock is set back (R3)', () => {
    const { admit, pass } = limited(1);
    admit(1);
    pass(-3_600_000);
    expect(admit(1)).toEqual([61]);
    pass(61_000);
    expect(admit(1)).toEqual([0]);
  });

  it('forgets everything after a long silence', () => {
    const { admit, pass } = limited(2);
    admit(2);
    pass(86_400_000);
    expect(admit(3)).toEqual([0, 0, 61]);
  });
});
