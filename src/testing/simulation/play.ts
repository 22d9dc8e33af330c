import type { RunRecord } from '../../handle.ts';
import { pick } from './pick.ts';
import { playDecision } from './play-decision.ts';
import { playReader } from './play-reader.ts';
import { playStart } from './play-start.ts';
import type { SimStep } from './steps.ts';
import type { SimWorld } from './world.ts';

/** Makes a step happen, and lets what it sets off come to rest. */
export async function play(world: SimWorld, step: SimStep): Promise<void> {
  world.reach.count('steps', step.do === 'disk' ? `disk ${step.how}` : step.do);
  await world.ensureProcess();
  await perform(world, step);
  await world.settle();
}

async function perform(world: SimWorld, step: SimStep): Promise<void> {
  switch (step.do) {
    case 'start':
      return await playStart(world, step);
    case 'cancel':
    case 'park':
    case 'resume':
    case 'explain':
      return await command(world, step.do, step.nth);
    case 'attach':
    case 'leave':
    case 'vanish':
    case 'stopReading':
    case 'readOn':
    case 'reconnect':
      return await playReader(world, step);
    case 'decide':
      return await playDecision(world, step);
    case 'wait':
      return await world.clock.advance(step.ms);
    case 'setClock':
      world.reach.count('faults', step.byMs < 0 ? 'clock set back' : 'clock set forward');
      return world.clock.set(step.byMs);
    case 'disk':
      if (step.how !== 'well') world.reach.count('faults', `disk ${step.how}`);
      return world.disk.turn(step);
    case 'usurp':
      return await usurp(world);
    case 'crash':
      return await crash(world, step);
    case 'shutdown':
      return shutdown(world, step);
  }
}

const VERBS = { cancel: 'cancel', park: 'park', resume: 'resume' } as const;

/** What a record says may be done with a run is taken at its word. */
async function command(
  world: SimWorld,
  what: 'cancel' | 'park' | 'resume' | 'explain',
  nth: number,
): Promise<void> {
  if (what === 'explain') {
    const run = pick(await world.runs(), nth);
    if (run !== undefined)
      await world.ask({ method: 'GET', path: `/v1/runs/${run.run_id}/explain` });
    return;
  }
  const run = await ableRun(world, what, nth);
  if (run === undefined) return;
  const answer = await world.ask({
    method: 'POST',
    path: `/v1/runs/${run.run_id}/${what}`,
    body: {},
  });
  if (answer === undefined || answer.status < 300 || !world.isWell) return;
  // Another run of the session may be live, which the verbs of a parked one do not say.
  if (what === 'resume' && answer.status === 409) return;
  if (what === 'park' && answer.status === 422) return;
  world.fault(
    `${what} of a run that is ${described(run)} is answered ${answer.status}: ${answer.text}`,
  );
}

/** A run that was asked to park comes to it in a moment. */
const UNTIL_PARKED_MS = 5_000;

async function ableRun(
  world: SimWorld,
  what: keyof typeof VERBS,
  nth: number,
): Promise<RunRecord | undefined> {
  const able = (run: RunRecord): boolean => run.verbs.includes(VERBS[what]);
  const found = pick((await world.runs()).filter(able), nth);
  if (found !== undefined || what !== 'resume') return found;
  await world.clock.advance(UNTIL_PARKED_MS);
  return pick((await world.runs()).filter(able), nth);
}

const described = ({ state, verbs }: RunRecord): string => `${state} and may ${verbs.join(', ')}`;

/** Whoever writes with an older lease is refused from then on. */
async function usurp(world: SimWorld): Promise<void> {
  world.reach.count('faults', 'lease taken');
  world.isUsurped = true;
  for (const key of world.disk.sessions()) {
    const later = world.clock.now() + 10_000_000_000;
    const stranger = { key, owner: 'stranger', now: later, ttlMs: 1 };
    const taken = await world.disk.kept.acquire(stranger);
    if (taken.acquired) await world.disk.kept.release([taken.lease]);
  }
}

async function crash(world: SimWorld, step: Extract<SimStep, { do: 'crash' }>): Promise<void> {
  const { keeps, downMs, recover, resumeOnStart } = step;
  const dropped = world.disk.dropped;
  world.process.kill(keeps);
  world.reach.count('faults', 'crash');
  if (world.disk.dropped > dropped) world.reach.count('faults', 'crash tears writes');
  await world.settle();
  await world.clock.advance(downMs);
  await world.boot({ recover, resumeOnStart });
}

function shutdown(world: SimWorld, step: Extract<SimStep, { do: 'shutdown' }>): void {
  const { signals, resumeOnStart } = step;
  world.reach.count('faults', signals === 1 ? 'shutdown' : 'second signal');
  world.recoverBy({ ...world.recovery, resumeOnStart });
  for (let sent = 0; sent < signals; sent += 1) world.process.handle.shutdown('SIGTERM');
}
