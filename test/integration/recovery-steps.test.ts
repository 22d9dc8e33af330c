import { describe, expect, it } from 'vitest';
import type { LivenessPolicy } from '../../src/handle.ts';
import type { Envelope, JournalEvent } from '../../src/journal/events.ts';
import type { UpstreamRequest } from '../../src/testing/fake-upstream.ts';
import {
  DONE,
  POLICIES,
  type Step,
  STEP_NAMES,
  type StepName,
  STEPS,
  STEPS_TOML,
  USAGE,
} from '../support/fault-steps.ts';
import {
  askedOf,
  continuedBy,
  linesOf,
  readRun,
  recordOf,
  type Started,
  startRun,
  type Witness,
  wholeRun,
  witnesses,
} from '../support/fault-world.ts';
import type { Exchange } from '../support/system-client.ts';
import { type ProcessWorld, processWorlds, type ServerProcess } from '../support/system-process.ts';
import { expectSoundStore, readSessions } from '../support/system-store.ts';

/**
 * A process is killed with runs in it at every step of a run's life under every policy, and another
 * one starts on its data. Executions of tools are counted outside of both.
 */

const start = processWorlds();
const witness = witnesses();
const SECRET = 'sk-system-test-0123456789';

interface Case {
  readonly step: StepName;
  readonly policy: LivenessPolicy;
  /** Also the prompt and the session. */
  readonly id: string;
}

interface Live extends Case {
  readonly run: Started;
  readonly reader: Exchange;
}

const CASES: readonly Case[] = STEP_NAMES.flatMap((step, at) =>
  POLICIES.map((policy) => ({ step, policy, id: `${policy}-${at}` })),
);

const stepOf = ({ step }: Pick<Case, 'step'>): Step => STEPS[step];

/** What the model says in the first process; in any other one it is done at once. */
function script(isFirst: () => boolean) {
  return (request: UpstreamRequest) => {
    const { prompt, turn } = askedOf(request);
    const known = CASES.find(({ id }) => id === prompt);
    const answers = known && isFirst() ? stepOf(known).script(known.id) : [];
    return answers[turn] ?? DONE;
  };
}

/** Starts the run of a case and brings it to its step. */
async function bring(server: ServerProcess, one: Case): Promise<Live> {
  const { policy, id } = one;
  const { seen, told } = stepOf(one);
  const run = await startRun(server, { prompt: id, session_id: id, liveness: { policy } });
  const reader = readRun(server, run.run_id);
  await reader.until(({ body }) => body.includes(seen));
  if (told === undefined) return { ...one, run, reader };
  const answer = server.ask(`/v1/runs/${run.run_id}/${told.path}`, { method: 'POST' });
  expect(await answer.status()).toBe(202);
  await reader.until(({ body }) => body.includes(told.seen));
  return { ...one, run, reader };
}

interface Killed {
  readonly world: ProcessWorld;
  readonly server: ServerProcess;
  readonly seen: Witness;
  readonly lives: readonly Live[];
}

/** Every case in one process, which is killed when each is at its step. */
async function killAll(recover: 'fail' | 'resume'): Promise<Killed> {
  const seen = witness();
  let isFirst = true;
  const world = await start({
    toml: [STEPS_TOML, `[runtime.crash]\nrecover = "${recover}"`, seen.toml].join('\n'),
    respond: script(() => isFirst),
  });
  const lives = await Promise.all(CASES.map((one) => bring(world.server, one)));
  await world.server.kill();
  isFirst = false;
  await Promise.all(lives.map(({ reader }) => reader.closed));
  for (const live of lives) expectExecuted(live, seen, 'before');
  return { world, server: await world.again(), seen, lives };
}

function expectExecuted(live: Live, seen: Witness, when: 'before' | 'after', again = 0): void {
  for (const [call, times] of Object.entries(stepOf(live).executed)) {
    const what = `executions of ${call}, ${live.step} under ${live.policy}, ${when}`;
    expect(seen.count(`${live.id}-${call}`), what).toBe(times + again);
  }
}

const eventsOf = (entries: readonly Envelope[]): readonly JournalEvent[] =>
  entries.map(({ payload }) => payload.event);

const WAITING = 'while it waits for a person';
const REPEATABLE = 'with a tool started that may be repeated';
const STOPPED = 'while it is being stopped';

/** How the run ends that was lost: by its policy, what was configured, and what it waited for. */
function endOf({ step, policy }: Case, recover: 'fail' | 'resume'): object {
  if (step === STOPPED) return { type: 'cancelled', reason: 'external' };
  const isKept = policy !== 'cancel' && (recover === 'resume' || step === WAITING);
  if (isKept) return { type: 'parked', reason: 'owner_lost' };
  return { type: 'failed', error: { code: 'owner_lost', retryable: true } };
}

/** The turns that the model had answered are kept, whatever became of the run. */
function usageOf(one: Case): object {
  const { answered } = stepOf(one);
  return {
    prompt_tokens: answered * USAGE.prompt_tokens,
    completion_tokens: answered * USAGE.completion_tokens,
  };
}

/** Nobody knows what became of a call that was started and not ended. */
function expectCallsClosed(events: readonly JournalEvent[], about: string): void {
  const started = events.flatMap((event) => (event.type === 'tool_start' ? event.tool_id : []));
  const unknown = events.flatMap((event) =>
    event.type === 'tool_complete' && event.effect === 'unknown' ? event.tool_id : [],
  );
  const ended = events.flatMap((event) =>
    event.type === 'tool_complete' && event.effect === undefined ? event.tool_id : [],
  );
  if (events.at(-1)?.type === 'failed') {
    for (const id of started) expect([...ended, ...unknown], about).toContain(id);
  }
}

/** The lost run in the process after it: its end, its record, and what its reader had. */
async function expectLost(server: ServerProcess, live: Live, recover: 'fail' | 'resume') {
  const reader = readRun(server, live.run.run_id);
  await reader.all();
  const [before, after] = [linesOf(live.reader), linesOf(reader)];
  const about = `${live.step} under ${live.policy}`;
  expect(after.slice(0, before.length), `what the reader saw, ${about}`).toEqual(before);
  const events = after.map((line) => (JSON.parse(line) as Envelope).payload.event);
  expect(events.at(-1), about).toMatchObject(endOf(live, recover));
  expect(events.at(-1), `usage, ${about}`).toMatchObject(usageOf(live));
  expectCallsClosed(events, about);
  const record = await recordOf(server, live.run.run_id);
  expect(record, about).toMatchObject({ state: events.at(-1)?.type, claims: [], deadlines: [] });
  return { events, record };
}

/** Asks for the decision that a parked run waits for, and gives it. */
async function approve(server: ServerProcess, { run }: Live): Promise<void> {
  const { approvals } = await recordOf(server, run.run_id);
  expect(approvals).toHaveLength(1);
  const asked = { method: 'POST', body: { approved: true } };
  expect(await server.ask(`/v1/approvals/${approvals[0]}`, asked).status()).toBe(204);
}

async function expectResumed(server: ServerProcess, live: Live): Promise<readonly JournalEvent[]> {
  const runId = await continuedBy(server, live.run);
  const events = eventsOf(await wholeRun(server, runId));
  expect(events.at(-1), `${live.step} under ${live.policy}`).toMatchObject({ type: 'finished' });
  const record = await recordOf(server, live.run.run_id);
  expect(record).toMatchObject({ state: 'parked', continued_by: runId });
  return events;
}

async function expectSound({ world, server, lives }: Killed): Promise<void> {
  expect(world.upstream.faults, 'what the strict upstream refused').toEqual([]);
  server.signal('SIGTERM');
  expect(await server.exit()).toEqual([0, null]);
  await expectSoundStore(world.dataDir, SECRET);
  const sessions = await readSessions(world.dataDir);
  expect(sessions).toHaveLength(lives.length);
}

describe.each(['fail', 'resume'] as const)('a killed process, with recover = "%s"', (recover) => {
  it('leaves every run with its end or its way on, whatever it was at', async () => {
    const killed = await killAll(recover);
    const { server, seen, lives } = killed;
    for (const live of lives) {
      const { record } = await expectLost(server, live, recover);
      const isParked = record.state === 'parked';
      if (live.step === WAITING && isParked) await approve(server, live);
      if (isParked) await expectResumed(server, live);
      const again = isParked && (live.step === WAITING || live.step === REPEATABLE) ? 1 : 0;
      expectExecuted(live, seen, 'after', again);
    }
    await expectSound(killed);
  }, 60_000);
});
