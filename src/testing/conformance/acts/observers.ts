import { STEPS } from '../paths/steps.ts';
import type { Act, Stage } from './stage.ts';

/** Those who hold a claim come and go. */
export const OBSERVER_ACTS: Readonly<Record<string, Act>> = {
  [STEPS.annAttaches]: (stage) => attach(stage, 'ann'),
  [STEPS.bobAttaches]: (stage) => attach(stage, 'bob'),
  [STEPS.annLeaves]: (stage) => leave(stage, 'ann'),
  [STEPS.bobLeaves]: (stage) => leave(stage, 'bob'),
  [STEPS.gracePasses]: (stage) => stage.more('liveness_decided', stage.count('liveness_decided')),
};

async function attach(stage: Stage, name: string): Promise<void> {
  const before = stage.count('observer_attached');
  const { runId } = stage.run();
  const reader = await stage.api.stream(`/v1/runs/${runId}/events?claim=true`);
  stage.readers.push({ runId, reader });
  stage.claimants.set(name, reader);
  await stage.more('observer_attached', before);
}

async function leave(stage: Stage, name: string): Promise<void> {
  const before = stage.count('observer_detached');
  stage.claimants.get(name)?.leave();
  await stage.more('observer_detached', before);
}
