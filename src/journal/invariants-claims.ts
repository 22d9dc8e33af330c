import type { JournalEvent, LivenessFields } from './events.ts';
import {
  type Check,
  type Placed,
  perRun,
  type RunView,
  type Violation,
} from './invariants-view.ts';

/**
 * JN-05: claims tell one story. Each attaches once until it detaches; the last detach is followed by the
 * exhaustion, with the grace that the run was started with, and that by what the window came to: a claim
 * inside it, the decision for the run's policy, or the run's end. Nobody attaches after a decision that
 * is not to continue, and a run without a claim is never exhausted.
 */
export const claimsTellOneStory: Check = perRun((run) => {
  const liveness = run.of('queued', 'started')[0]?.event.liveness;
  if (liveness === undefined) return [];
  const teller = new ClaimStory(run, liveness);
  for (const placed of run.events) teller.note(placed);
  return teller.violations;
});

class ClaimStory {
  readonly violations: Violation[] = [];
  readonly #run: RunView;
  readonly #liveness: LivenessFields;
  readonly #claims = new Set<string>();
  #phase: 'open' | 'lost' | 'exhausted' | 'decided' = 'open';

  constructor(run: RunView, liveness: LivenessFields) {
    this.#run = run;
    this.#liveness = liveness;
  }

  note({ seq, event }: Placed): void {
    const wrong = this.#wrong(event);
    if (wrong !== undefined) this.violations.push(this.#run.violation('JN-05', seq, wrong));
    this.#follow(event);
  }

  #wrong(event: JournalEvent): string | undefined {
    switch (event.type) {
      case 'observer_attached':
        return this.#wrongAttach(event.observer.id, event.within_grace === true);
      case 'observer_detached':
        if (this.#claims.has(event.observer.id)) return undefined;
        return `${event.observer.id} detaches without a claim`;
      case 'claims_exhausted':
        if (this.#phase !== 'lost') return 'claims are exhausted without the loss of the last one';
        return event.grace_ms === this.#liveness.grace_ms ? undefined : 'the grace is another one';
      case 'liveness_decided':
        if (this.#phase !== 'exhausted') return 'liveness is decided without an exhaustion';
        return event.policy === this.#liveness.policy ? undefined : 'the policy is another one';
      default:
        return undefined;
    }
  }

  #wrongAttach(id: string, withinGrace: boolean): string | undefined {
    if (this.#claims.has(id)) return `${id} attaches twice`;
    if (this.#phase === 'decided') return `${id} attaches after the decision`;
    const inWindow = this.#phase === 'exhausted';
    return inWindow === withinGrace ? undefined : `${id} is wrong about the grace window`;
  }

  #follow(event: JournalEvent): void {
    switch (event.type) {
      case 'observer_attached':
        this.#claims.add(event.observer.id);
        this.#phase = 'open';
        return;
      case 'observer_detached':
        if (this.#claims.delete(event.observer.id) && this.#claims.size === 0) this.#phase = 'lost';
        return;
      case 'claims_exhausted':
        this.#phase = 'exhausted';
        return;
      case 'liveness_decided':
        this.#phase = event.policy === 'continue' ? 'open' : 'decided';
        return;
      default:
    }
  }
}
