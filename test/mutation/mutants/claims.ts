import type { Mutant } from '../mutant.ts';

const file = 'machines/claims.machine.ts';

/** Who holds a run's right to go on. */
export const CLAIMS_MUTANTS: readonly Mutant[] = [
  {
    name: 'claim-counted-twice',
    core: true,
    says: 'an observer that attaches twice holds two claims',
    file,
    edits: [
      [
        'context.claims.every((claim) => claim.id !== params.observerId)',
        "params.observerId !== '' && context.liveness.graceMs >= 0",
      ],
    ],
  },
  {
    name: 'claim-one-detach-exhausts',
    says: 'the run is given up when the oldest of several observers leaves',
    file,
    edits: [
      [
        'context.claims.length === 1 && context.claims[0]?.id === params.observerId',
        'context.claims[0]?.id === params.observerId',
      ],
    ],
  },
  {
    name: 'claims-grace-timer-missing',
    core: true,
    says: 'nothing ends the grace window',
    file,
    edits: [["      after: { grace: { target: 'deciding' } },\n", '']],
  },
  {
    name: 'claims-grace-skipped',
    core: true,
    says: 'the run is given up at once, whatever grace was promised',
    file,
    edits: [['context.liveness.graceMs > 0', 'context.liveness.graceMs < 0']],
  },
  {
    name: 'claims-return-in-grace-ignored',
    core: true,
    says: 'an observer that comes back within the grace does not stop its clock',
    file,
    edits: [
      [
        "on: { 'claim.attach': { target: 'claimed', actions: [...attach(true)] } },",
        "on: { 'claim.attach': { actions: [...attach(true)] } },",
      ],
    ],
  },
  {
    name: 'claims-continue-decides-once',
    says: 'under continue the watch ends with the first loss of all claims',
    file,
    edits: [["context.liveness.policy === 'continue'", 'context.liveness.graceMs < 0']],
  },
];
