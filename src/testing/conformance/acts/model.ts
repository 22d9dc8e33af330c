import { DEADLINES, TOOLS } from '../kit/agents.ts';
import { STEPS } from '../paths/steps.ts';
import { Mismatch, Skip } from './mismatch.ts';
import { type Act, MAIN, type Stage, WAIT_MS } from './stage.ts';

/** What the scripted model does. */
export const MODEL_ACTS: Readonly<Record<string, Act>> = {
  [STEPS.answers]: async (stage) => (await stage.answering()).say(),
  [STEPS.calls]: (stage) => call(stage, TOOLS.work),
  [STEPS.callsTwo]: (stage) => call(stage, TOOLS.work, TOOLS.work),
  [STEPS.callsGuarded]: (stage) => call(stage, TOOLS.guarded),
  [STEPS.speaks]: async (stage) => {
    const before = stage.count('text_delta');
    (await stage.modelCall()).speak();
    await stage.more('text_delta', before);
  },
  [STEPS.failsForNow]: async (stage) => (await stage.answering()).fail(503),
  [STEPS.breaksOff]: async (stage) => (await stage.answering()).fail(503),
  [STEPS.refuses]: async (stage) => (await stage.answering()).fail(400),
  [STEPS.wantsAnHour]: async (stage) =>
    (await stage.answering()).fail(429, { 'retry-after': '3600' }),
  [STEPS.firstChunkLate]: (stage) => runOut(stage, 'first_chunk', DEADLINES.firstChunkSecs),
  [STEPS.fallsSilent]: (stage) => runOut(stage, 'inactivity', DEADLINES.inactivitySecs),
  [STEPS.stepPasses]: async (stage) => {
    const isWorking = stage.count('tool_requested') > stage.count('tool_complete');
    // A model that is silent would meet its own deadlines first.
    if (!isWorking) (await stage.modelCall()).drip();
    await runOut(stage, 'step', DEADLINES.stepSecs);
  },
  [STEPS.totalPasses]: (stage) => stage.ended(),
};

/** The calls come one after the other in the journal, and each tool is called before the next step. */
async function call(stage: Stage, ...names: readonly string[]): Promise<void> {
  const before = stage.count('tool_requested');
  const named = names.map((name, index) => ({ name, which: index === 0 ? MAIN : 'b' }));
  (await stage.answering()).call(...stage.toolCalls(...named));
  const what = `${names.length} requested tool calls, or the end of the run`;
  const isThere = (): boolean => stage.count('tool_requested') >= before + names.length;
  await stage.until(what, () => isThere() || stage.terminal() !== undefined);
}

/** Waits for a deadline of the run, which must be as short as the kit's configuration has it. */
async function runOut(stage: Stage, which: string, secs: number): Promise<void> {
  // The model's deadlines run from the moment it was asked.
  if (which !== 'step') await stage.modelCall();
  const { runId } = stage.run();
  const { json } = await stage.api.expect(200, `/v1/runs/${runId}`);
  const deadlines = (json['deadlines'] ?? []) as { which: string; remaining_ms: number }[];
  const deadline = deadlines.find((one) => one.which === which);
  if (deadline === undefined) {
    throw new Mismatch(`a deadline ${which} in the record`, JSON.stringify(json['deadlines']));
  }
  if (deadline.remaining_ms > secs * 1_000) {
    const why = `the deadline ${which} is ${deadline.remaining_ms} ms away`;
    throw new Skip(`${why}; under the kit’s configuration it is ${secs} s`);
  }
  await stage.ended(MAIN, secs * 1_000 + WAIT_MS);
}
