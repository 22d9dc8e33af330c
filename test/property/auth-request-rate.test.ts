import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RequestRate } from '../../src/http/auth/request-rate.ts';

const MINUTE_MS = 60_000;

/** Requests by the silence before each, a few of them long or backwards. */
const gaps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
    { weight: 2, arbitrary: fc.integer({ min: 20_000, max: 70_000 }) },
    { weight: 1, arbitrary: fc.constant(0) },
  ),
  { minLength: 1, maxLength: 200 },
);

describe('whatever the times of the requests', () => {
  it('no minute has more than the limit, and who waits as told is let in (R1, R2)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), gaps, (max, silences) => {
        let now = 0;
        const rate = new RequestRate(max, { now: () => now });
        const admitted: number[] = [];
        for (const silence of silences) {
          now += silence;
          const waitSecs = rate.admit();
          if (waitSecs > 0) {
            expect(waitSecs).toBeLessThanOrEqual(61);
            expect(Number.isInteger(waitSecs)).toBe(true);
            now += waitSecs * 1_000;
            expect(rate.admit()).toBe(0);
          }
          admitted.push(now);
        }
        for (const [index, at] of admitted.entries()) {
          const next = admitted[index + max];
          if (next !== undefined) expect(next - at).toBeGreaterThan(MINUTE_MS - 1);
        }
      }),
    );
  });

  it('nobody is refused while the last 61 seconds have fewer than the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), gaps, (max, silences) => {
        let now = 0;
        const rate = new RequestRate(max, { now: () => now });
        const admitted: number[] = [];
        for (const silence of silences) {
          now += silence;
          const recent = admitted.filter((at) => now - at < MINUTE_MS + 1_000).length;
          const isLet = rate.admit() === 0;
          if (isLet) admitted.push(now);
          else expect(recent).toBeGreaterThanOrEqual(max);
        }
      }),
    );
  });
});
