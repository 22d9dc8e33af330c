import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClaimsEmitted, claimsMachine } from '../../machines/claims.machine.ts';
import type { LivenessPolicy, Observer } from '../../machines/vocabulary.ts';
import { startDrive } from '../../src/testing/drive.ts';

const GRACE_MS = 1_000;

type Stimulus = { do: 'attach' | 'detach'; who: string } | { do: 'wait'; ms: number };

const stimulus: fc.Arbitrary<Stimulus> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('attach' as const, 'detach' as const),
      who: fc.constantFrom('ann', 'bob'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, GRACE_MS - 1, GRACE_MS),
    }),
  },
);

const start = fc.record({
  policy: fc.constantFrom<LivenessPolicy>('cancel', 'continue', 'park'),
  graceMs: fc.constantFrom(0, GRACE_MS),
  hasFirst: fc.boolean(),
});

/** A second telling of the rules: what must be told, from a set and a deadline. */
class Expected {
  readonly facts: string[] = [];
  decided = false;
  readonly #claims = new Set<string>();
  readonly #policy: LivenessPolicy;
  readonly #graceMs: number;
  #graceEndsAt: number | undefined;

  constructor(policy: LivenessPolicy, graceMs: number) {
    this.#policy = policy;
    this.#graceMs = graceMs;
  }

  attach(who: string): void {
    if (this.decided || this.#claims.has(who)) return;
    this.facts.push(
      this.#graceEndsAt === undefined ? `attached ${who}` : `attached ${who} in grace`,
    );
    this.#graceEndsAt = undefined;
    this.#claims.add(who);
  }

  detach(who: string, now: number): void {
    if (this.decided || !this.#claims.delete(who)) return;
    this.facts.push(`detached ${who}`);
    if (this.#claims.size > 0) return;
    this.facts.push('exhausted');
    if (this.#graceMs === 0) this.#decide();
    else this.#graceEndsAt = now + this.#graceMs;
  }

  passTo(now: number): void {
    if (this.#graceEndsAt !== undefined && now >= this.#graceEndsAt) this.#decide();
  }

  #decide(): void {
    this.#graceEndsAt = undefined;
    this.facts.push(`decided ${this.#policy}`);
    this.decided = this.#policy !== 'continue';
  }
}

function inWords(fact: ClaimsEmitted): string {
  switch (fact.type) {
    case 'observer.attached':
      return `attached ${fact.observer.id}${fact.withinGrace ? ' in grace' : ''}`;
    case 'observer.detached':
      return `detached ${fact.observer.id}`;
    case 'claims.exhausted':
      return 'exhausted';
    case 'liveness.decided':
      return `decided ${fact.policy}`;
  }
}

const observer = (id: string): Observer => ({ id, presence: true });

describe('claims chart: invariants under any history', () => {
  it('tells what a set of claims and a grace window tell (CL1 to CL5)', async () => {
    await fc.assert(
      fc.asyncProperty(start, fc.array(stimulus, { maxLength: 25 }), async (begun, history) => {
        const { policy, graceMs, hasFirst } = begun;
        const input = { liveness: { policy, graceMs }, first: hasFirst ? observer('ann') : null };
        const drive = startDrive(claimsMachine, { input });
        const { actor, clock, emitted } = drive;
        const expected = new Expected(policy, graceMs);
        if (hasFirst) expected.attach('ann');
        for (const s of history) {
          if (s.do === 'wait') {
            await clock.advance(s.ms);
            expected.passTo(clock.now());
          } else if (s.do === 'attach') {
            drive.send({ type: 'claim.attach', observer: observer(s.who) });
            expected.attach(s.who);
          } else {
            drive.send({ type: 'claim.detach', observerId: s.who, because: 'released' });
            expected.detach(s.who, clock.now());
          }
        }
        // The drive's facts are typed for any chart.
        expect((emitted as ClaimsEmitted[]).map(inWords)).toEqual(expected.facts);
        expect(actor.getSnapshot().status).toBe(expected.decided ? 'done' : 'active');
      }),
      { numRuns: 400 },
    );
  });
});
