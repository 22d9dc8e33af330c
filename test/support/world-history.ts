import fc from 'fast-check';
import type { LivenessPolicy } from '../../machines/vocabulary.ts';
import { SupervisorError } from '../../src/errors.ts';
import type { BusyStrategy, RunRecord } from '../../src/handle.ts';
import { ModelError } from '../../src/model.ts';
import { Host, type HostProcess } from './recovery-host.ts';
import type { RunWorldOptions } from './run-world.ts';

/** One thing that somebody does to a supervisor, or that happens to it. `nth` picks among what is there. */
export type WorldStep =
  | {
      do: 'start';
      onBusy: BusyStrategy;
      policy: LivenessPolicy;
      graceMs: number;
      session: string;
      claimed: boolean;
      goesOn: boolean;
    }
  | { do: 'claim' | 'release' | 'park' | 'cancel' | 'resume'; nth: number }
  | { do: 'decide'; nth: number; approved: boolean }
  | { do: 'say' | 'finish' | 'failModel'; nth: number }
  | { do: 'ask'; nth: number; tools: readonly ToolName[] }
  | { do: 'answerTool' | 'failTool'; nth: number }
  | { do: 'wait'; ms: number }
  | { do: 'crash'; recover: 'fail' | 'resume'; resumeOnStart: boolean; turns: number }
  | { do: 'shutdown' };

type ToolName = 'safe' | 'again' | 'danger' | 'deaf';

const nth = fc.nat(4);

const start: fc.Arbitrary<WorldStep> = fc.record({
  do: fc.constant('start' as const),
  onBusy: fc.constantFrom<BusyStrategy>('reject', 'enqueue', 'interrupt', 'parallel'),
  policy: fc.constantFrom<LivenessPolicy>('cancel', 'continue', 'park', 'park'),
  graceMs: fc.constantFrom(0, 0, 5_000),
  session: fc.constantFrom('one', 'one', 'two'),
  claimed: fc.boolean(),
  goesOn: fc.boolean(),
});

const tools = fc.array(fc.constantFrom<ToolName>('safe', 'again', 'danger', 'danger', 'deaf'), {
  minLength: 1,
  maxLength: 3,
});

const onOne = <Do extends 'claim' | 'release' | 'park' | 'cancel' | 'resume'>(what: Do) =>
  fc.record({ do: fc.constant(what), nth });

/** Weighted so that histories come to parked runs, decisions and deaths, and not only to ends. */
export const worldStep: fc.Arbitrary<WorldStep> = fc.oneof(
  { weight: 6, arbitrary: start },
  { weight: 7, arbitrary: fc.record({ do: fc.constant('ask' as const), nth, tools }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('decide' as const), nth, approved: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('answerTool' as const, 'failTool' as const), nth }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('say' as const, 'finish' as const, 'failModel' as const),
      nth,
    }),
  },
  { weight: 4, arbitrary: onOne('release') },
  { weight: 4, arbitrary: onOne('park') },
  { weight: 4, arbitrary: onOne('resume') },
  { weight: 2, arbitrary: onOne('claim') },
  { weight: 2, arbitrary: onOne('cancel') },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 1_000, 5_000, 20_000, 61_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      recover: fc.constantFrom('fail' as const, 'resume' as const),
      resumeOnStart: fc.boolean(),
      turns: fc.nat(12),
    }),
  },
  { weight: 1, arbitrary: fc.constant<WorldStep>({ do: 'shutdown' }) },
);

const OPTIONS: RunWorldOptions = {
  tools: ['safe', 'again', 'danger', 'deaf'],
  requireApproval: ['danger'],
  idempotentTools: ['again'],
  limits: {
    firstChunkMs: 60_000,
    stepMs: 120_000,
    totalMs: 600_000,
    parallelToolsMax: 2,
    turnsMax: 4,
    parkMs: 30_000,
  },
  toolTimeoutMs: 40_000,
  approvalTimeoutMs: 90_000,
  graceMs: 5_000,
};

/** What may be answered to a command that comes at a bad moment; anything else is a bug. */
const EXPECTED: ReadonlySet<string> = new Set([
  'session_busy',
  'service_unavailable',
  'not_parked',
  'already_resumed',
  'approvals_undecided',
  'run_ended',
  'run_elsewhere',
]);

/** What was executed, and by which process. */
export interface Executed {
  readonly process: number;
  readonly name: string;
  readonly callId: string;
  readonly runId: string;
}

/** A host whose process dies and comes back, played step by step. */
export class WorldHistory {
  readonly host = new Host();
  readonly #processes: HostProcess[] = [];
  /** Answers to starts that were taken, by what was asked. */
  readonly started: { runId: string; onBusy: BusyStrategy; session: string }[] = [];
  #options: RunWorldOptions = OPTIONS;
  #elapsedMs = 0;
  #left = false;

  get process(): HostProcess {
    const process = this.#processes.at(-1);
    if (process === undefined) throw new Error('nothing was booted');
    return process;
  }

  get executed(): Executed[] {
    return this.#processes.flatMap(({ tools }, process) =>
      tools.executions.map(({ name, context }) => ({
        process,
        name,
        callId: context.toolCallId,
        runId: context.runId,
      })),
    );
  }

  get processes(): readonly HostProcess[] {
    return this.#processes;
  }

  async boot(turns = 12): Promise<void> {
    const process = await this.host.boot(this.#options, { afterMs: this.#elapsedMs, turns });
    process.tools.deaf.add('deaf');
    this.#processes.push(process);
    this.#left = false;
  }

  async play(step: WorldStep): Promise<void> {
    try {
      await this.#play(step);
    } catch (error) {
      if (!(error instanceof SupervisorError) || !EXPECTED.has(error.code)) throw error;
    }
    await this.#settle();
  }

  /** Lets everything come to its end: nobody reads, nobody decides, and time passes. */
  async comeToRest(): Promise<void> {
    if (this.#left) await this.boot();
    await this.#wait(5_000_000);
    await this.#settle();
  }

  async #play(step: WorldStep): Promise<void> {
    switch (step.do) {
      case 'start':
        return await this.#start(step);
      case 'claim':
      case 'release':
      case 'park':
      case 'cancel':
      case 'resume':
        return await this.#command(step.do, step.nth);
      case 'decide':
        return await this.#decide(step.nth, step.approved);
      case 'wait':
        return await this.#wait(step.ms);
      case 'crash':
        return await this.#crash(step);
      case 'shutdown':
        return await this.#shutdown();
      default:
        this.#answer(step);
    }
  }

  async #start(step: Extract<WorldStep, { do: 'start' }>): Promise<void> {
    const { onBusy, policy, graceMs, session, claimed, goesOn } = step;
    const prompt = `Question ${this.started.length}`;
    const started = this.process.supervisor.start({
      agent: 'agent',
      sessionId: session,
      messages: [{ role: 'user', content: prompt }],
      prompt,
      streaming: true,
      liveness: { policy, graceMs },
      onBusy,
      requestHeaders: {},
      ...(goesOn && { continuesSession: true }),
      ...(claimed && { claim: { observerId: 'reader' } }),
    });
    const { runId } = await this.#answered(started);
    this.started.push({ runId, onBusy, session });
  }

  async #command(what: 'claim' | 'release' | 'park' | 'cancel' | 'resume', nth: number) {
    const { supervisor } = this.process;
    const { data } = await supervisor.listRuns({ limit: 50 });
    const run = pick(
      data.filter((record) => isFor(what, record)),
      nth,
    );
    if (run === undefined) return;
    switch (what) {
      case 'claim':
        supervisor.claim(run.run_id, `reader-${nth}`);
        return;
      case 'release':
        supervisor.release(run.run_id, run.claims[0]?.id ?? 'reader');
        return;
      case 'park':
        await this.#answered(supervisor.park(run.run_id));
        return;
      case 'cancel':
        await this.#answered(supervisor.cancel(run.run_id, {}));
        return;
      case 'resume':
        await this.#answered(supervisor.resume(run.run_id, {}));
    }
  }

  async #decide(nth: number, approved: boolean): Promise<void> {
    const { supervisor } = this.process;
    const { data } = await supervisor.listApprovals({ limit: 50, state: 'pending' });
    const asked = pick(data, nth);
    if (asked === undefined) return;
    const answer = await this.#answered(supervisor.decide(asked.decision_id, { approved }));
    if (answer !== 'recorded') throw new Error(`a pending approval is answered ${answer}`);
  }

  #answer(step: Extract<WorldStep, { nth: number }>): void {
    const { model, tools } = this.process;
    const open = model.turns.filter(({ signal, over }) => !signal.aborted && !over);
    const turn = pick(open, step.nth);
    const execution = pick(tools.executions.toReversed(), step.nth);
    switch (step.do) {
      case 'say':
        turn?.say('text');
        return;
      case 'finish':
        turn?.say('.').finish();
        return;
      case 'failModel':
        turn?.fail(new ModelError({ code: 'provider_error', message: 'No.', retryable: true }));
        return;
      case 'ask':
        for (const [at, name] of step.tools.entries()) {
          turn?.call(name, { at }, `${this.#processes.length}-${model.turns.length}-${at}`);
        }
        turn?.finish('tool_calls');
        return;
      case 'answerTool':
        execution?.answer('result');
        return;
      case 'failTool':
        execution?.fail('no');
        return;
      default:
    }
  }

  async #crash(step: Extract<WorldStep, { do: 'crash' }>): Promise<void> {
    const { recover, resumeOnStart, turns } = step;
    this.process.kill();
    this.#elapsedMs += 20_000;
    this.#options = { ...OPTIONS, recover, resumeOnStart };
    await this.boot(turns);
  }

  /** The next process comes when the one before has left, as it does behind a service manager. */
  async #shutdown(): Promise<void> {
    const { supervisor, clock } = this.process;
    supervisor.shutdown('SIGTERM');
    await clock.advance(20_000);
    await supervisor.stopped;
    this.#elapsedMs += 20_000;
    this.#left = true;
    await this.boot();
  }

  async #wait(ms: number): Promise<void> {
    this.#elapsedMs += ms;
    await this.process.clock.advance(ms);
  }

  async #answered<T>(answer: Promise<T>): Promise<T> {
    const [value] = await Promise.all([answer, this.#settle()]);
    return value;
  }

  async #settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn += 1) await this.process.clock.settle();
  }
}

const LIVE: ReadonlySet<RunRecord['state']> = new Set([
  'queued',
  'preparing',
  'running',
  'waiting',
  'stopping',
]);

function isFor(what: 'claim' | 'release' | 'park' | 'cancel' | 'resume', run: RunRecord): boolean {
  if (what === 'resume') return run.state === 'parked';
  return LIVE.has(run.state);
}

const pick = <T>(among: readonly T[], nth: number): T | undefined =>
  among.length === 0 ? undefined : among[nth % among.length];
