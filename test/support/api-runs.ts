import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import { reply, type UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import {
  type Api,
  type AskedCall,
  askedOf,
  begin,
  calls,
  callSteps,
  control,
  ECHO,
  ended,
  eventsOf,
  gated,
  heard,
} from './api-kit.ts';

/** Headless runs that have come as far as a test wants them. */

interface Answering extends Api {
  answer(...answers: readonly UpstreamAnswer[]): void;
}

interface Running {
  /** Of the start. */
  readonly body?: object;
  readonly rest?: readonly UpstreamStep[];
}

/** A run that has said "a", and says the `rest` when `go` is called. `reader` reads it. */
export async function running(
  world: Answering,
  { body = {}, rest = reply({ text: ['!'] }) }: Running = {},
) {
  const { answer, go } = gated('a', rest);
  world.answer(answer);
  const { run_id: runId } = await begin(world, body);
  const reader = eventsOf(world, runId);
  await heard(reader, ({ type }) => type === 'text_delta');
  return { runId, reader, go };
}

/** A run that was parked by hand, with its call of `echo`, or of the tool given, still to make. */
export async function parkedByHand(world: Answering, call: AskedCall = ECHO): Promise<string> {
  const { runId, go } = await running(world, { rest: callSteps(call) });
  await control(world, runId, 'park').answered;
  go();
  await ended(world, runId);
  return runId;
}

/** A run of this session whose agent has asked a person. */
export async function asking(world: Answering, body: object = {}) {
  world.answer(calls(ECHO));
  const { run_id: runId } = await begin(world, body);
  const reader = eventsOf(world, runId);
  return { runId, reader, id: await askedOf(reader) };
}

/** Resumes a parked run, and gives the run that goes on with it. */
export async function resumed(world: Api, runId: string): Promise<string> {
  return String((await control(world, runId, 'resume').json())['run_id']);
}
