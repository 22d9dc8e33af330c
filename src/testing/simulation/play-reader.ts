import type { Asked } from './request.ts';
import { pick } from './pick.ts';
import { SimReader } from './reader.ts';
import type { SimStep } from './steps.ts';
import type { SimWorld } from './world.ts';

type ReaderStep = Extract<
  SimStep,
  { do: 'attach' | 'leave' | 'vanish' | 'stopReading' | 'readOn' | 'reconnect' }
>;

/** Something a reader does. */
export async function playReader(world: SimWorld, step: ReaderStep): Promise<void> {
  if (step.do === 'attach') return await attach(world, step);
  if (step.do === 'reconnect') return reconnect(world, step.nth);
  const reader = pick(
    world.readers.filter(({ reading }) => reading),
    step.nth,
  );
  if (reader === undefined) return;
  if (step.do !== 'readOn') world.reach.count('faults', FAULTS[step.do]);
  reader[step.do]();
}

const FAULTS = {
  leave: 'reader leaves',
  vanish: 'reader vanishes',
  stopReading: 'reader takes nothing',
} as const;

async function attach(world: SimWorld, step: Extract<SimStep, { do: 'attach' }>): Promise<void> {
  const run = pick(await world.runs(), step.nth);
  if (run === undefined) return;
  const { to: kind, claim } = step;
  const id = kind === 'run' ? run.run_id : run.session_id;
  world.openReader(new SimReader({ kind, id }), streamOf(kind, id, claim));
}

/** Only streams of entries can be gone on with. */
function reconnect(world: SimWorld, nth: number): void {
  const gone = world.readers.filter(({ of, reading }) => of.kind !== 'chat' && !reading);
  const reader = pick(gone, nth);
  if (reader === undefined) return;
  world.openReader(reader, streamOf(reader.of.kind, reader.of.id, false));
}

export function streamOf(kind: SimReader['of']['kind'], id: string, claim: boolean): Asked {
  const query = claim && kind === 'run' ? '?claim=true' : '';
  return { method: 'GET', path: `/v1/${kind}s/${id}/events${query}` };
}
