import type { AnyMachineSnapshot } from 'xstate';
import { type ClaimsInput, claimsMachine } from '../../machines/claims.machine.ts';
import type { Observer } from '../../machines/vocabulary.ts';
import { describeModel } from './model-suite.ts';
import { inShort } from './samples.ts';

const ANN: Observer = { id: 'ann', presence: true };
const BOB: Observer = { id: 'bob', presence: false };

const options = (input: ClaimsInput) => ({
  input,
  fact: inShort,
  key: ({ context }: AnyMachineSnapshot) => context.claims.map(({ id }: Observer) => id),
  payloads: {
    'claim.attach': { ann: { observer: ANN }, bob: { observer: BOB } },
    'claim.detach': {
      ann: { observerId: 'ann', because: 'released' },
      bob: { observerId: 'bob', because: 'expired' },
      nobody: { observerId: 'nobody', because: 'released' },
    },
  },
});

describeModel('claims', claimsMachine, {
  'cancel at once': options({ liveness: { policy: 'cancel', graceMs: 0 }, first: ANN }),
  'cancel after a grace': options({ liveness: { policy: 'cancel', graceMs: 15_000 }, first: ANN }),
  'continue without a first claim': options({
    liveness: { policy: 'continue', graceMs: 0 },
    first: null,
  }),
  'park after a grace': options({ liveness: { policy: 'park', graceMs: 30_000 }, first: ANN }),
});
