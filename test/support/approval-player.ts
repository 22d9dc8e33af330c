import type { LivenessPolicy } from '../../machines/vocabulary.ts';
import type { RunRecord } from '../../src/handle.ts';
import { ScriptedChannel, type ScriptedQuestion, type TakenNotice } from './approval-channel.ts';
import { takesTime } from './approval-sequences.ts';
import {
  type Answer,
  type CallStimulus,
  decisionIn,
  type Said,
  type Setting,
  type Stimulus,
  TIMES,
  type WorldDeed,
} from './approval-stimuli.ts';
import { Host, type HostProcess } from './recovery-host.ts';
import type { RunWorldOptions, SimulatedRun } from './run-world.ts';

const TOOL = 'danger';
export const SESSION = 'session-1';
export const DENIAL = 'not now';
export const DECIDER = 'key:tester';

export const UNKNOWN_ID = '0190-unknown';

/** Turns of the event loop in which a new process looks after what the one before it left. */
const BOOT_TURNS = 30;

/** A run that waits for its approvals on a running supervisor, and what is done to it. */
export class ApprovalPlayer {
  readonly host = new Host();
  readonly setting: Setting;
  /** Those who came to a webhook, from whichever process. */
  readonly notices: TakenNotice[] = [];
  readonly processes: HostProcess[] = [];
  readonly channels: ScriptedChannel[] = [];
  /** Of each call, in the order in which they were asked for; the latest is asked for now. */
  decisionIds: readonly (readonly string[])[] = [];
  /**
   * Of the processes that were killed: model turns while all was durable. A model may hear a
   * decision a moment before the store does.
   */
  readonly #turnsAtDeath = new Map<HostProcess, number>();
  #turnsAtRest = 0;
  #now = 0;
  #isDeaf = false;
  #run: SimulatedRun | undefined;

  constructor(setting: Setting) {
    this.setting = setting;
  }

  get process(): HostProcess {
    return required(this.processes.at(-1));
  }

  /** The webhook of the process that lives. */
  get channel(): ScriptedChannel {
    return required(this.channels.at(-1));
  }

  /** Comes to the moment at which every call waits for its approval. */
  async begin(): Promise<void> {
    await this.#boot(1);
    const liveness = { policy: this.setting.policy satisfies LivenessPolicy, graceMs: 0 };
    this.#run = await this.process.start({ sessionId: SESSION, liveness });
    for (let at = 0; at < this.setting.calls; at += 1) {
      this.process.model.turn.call(TOOL, argumentsOf(at), callId(at));
    }
    this.process.model.turn.finish('tool_calls');
    await this.settle();
  }

  async #learnIds(): Promise<void> {
    const entries = await this.host.entries(SESSION);
    const asked = entries.flatMap(({ payload: { event } }) =>
      event.type === 'approval_requested' ? [event] : [],
    );
    this.decisionIds = Array.from({ length: this.setting.calls }, (_, at) =>
      asked.filter((one) => one.tool_call_id === callId(at)).map(({ decision_id: id }) => id),
    );
  }

  /** The answer that a decision got; undefined for any other stimulus. */
  async play(stimulus: Stimulus): Promise<Answer | undefined> {
    const launched = this.launch(stimulus);
    // Time and a reboot bring the world to rest themselves, and one clock passes once at a time.
    if (takesTime(stimulus)) await launched;
    const [answer] = await Promise.all([launched, this.settle()]);
    await this.settle();
    return answer;
  }

  /** Begins it and lets nothing else happen. Rejects as the supervisor's command does. */
  async launch(stimulus: Stimulus): Promise<Answer | undefined> {
    if (stimulus.call !== undefined) return await this.#launchForCall(stimulus);
    const { deed, until } = stimulus;
    await (until === undefined ? this.#launchForWorld(deed) : this.#passTo(until));
    return undefined;
  }

  async #launchForCall({ deed, call: at, nth }: CallStimulus): Promise<Answer | undefined> {
    const said = decisionIn(deed);
    if (said !== undefined) return await this.#decide(this.idOf(at, nth), said);
    switch (deed) {
      case 'hook yes':
      case 'hook no':
        this.#question(at)?.decide(deed === 'hook yes');
        return undefined;
      case 'hook busy':
      case 'hook broken':
        this.#question(at)?.fail(deed === 'hook busy');
        return undefined;
      case 'tool returns':
        this.#execution(at)?.answer(resultOf(at));
        return undefined;
      default:
        return undefined;
    }
  }

  async #launchForWorld(deed: WorldDeed): Promise<void> {
    const { supervisor, model, tools } = this.process;
    switch (deed) {
      case 'reboot':
        return await this.#reboot();
      case 'deafen':
        this.#isDeaf = true;
        tools.deaf.add(TOOL);
        return;
      case 'cancel':
        await supervisor.cancel(await this.#newestRun(), {});
        return;
      case 'leave':
        return supervisor.release(required(this.#run).runId, 'reader');
      case 'park':
        await supervisor.park(await this.#newestRun());
        return;
      case 'resume':
        await supervisor.resume(await this.#newestRun(), {});
        return;
      case 'SIGTERM':
      case 'SIGTERM again':
        return supervisor.shutdown('SIGTERM');
      case 'answer':
        model.turns.at(-1)?.say('Done.').finish();
        return;
      default:
        throw new Error(`nobody says until when: ${deed}`);
    }
  }

  /** Decides and lets it come to rest. */
  async decide(decisionId: string, decision: Said): Promise<Answer> {
    const [answer] = await Promise.all([this.#decide(decisionId, decision), this.settle()]);
    await this.settle();
    return answer;
  }

  /** The latest of a call unless told; of one that was not asked for an id that nobody knows. */
  idOf(at: number, nth = -1): string {
    return this.decisionIds[at]?.at(nth) ?? UNKNOWN_ID;
  }

  #decide(decisionId: string, { approved, signed }: Said) {
    const reason = approved ? {} : { reason: DENIAL };
    const decision = { approved, by: DECIDER, ...reason, ...(signed && { signed: true }) };
    return this.process.supervisor.decide(decisionId, decision);
  }

  /** Answers of the webhook to questions that nobody asks any more. */
  async answerLate(): Promise<void> {
    for (const question of this.channel.questions) if (!question.isOpen) question.decide(true);
    await this.settle();
  }

  /** Until nothing moves any more without time or somebody. */
  async settle(): Promise<void> {
    await this.process.clock.advance(0);
    await this.process.clock.advance(0);
    this.#turnsAtRest = this.process.model.turns.length;
    await this.#learnIds();
  }

  /** Executions of a call, whichever process made them. */
  executionsOf(at: number) {
    const all = this.processes.flatMap(({ tools }) => tools.executions);
    return all.filter(({ context }) => context.toolCallId === callId(at));
  }

  /** What the model was asked, by whichever process. */
  get requests() {
    return this.processes.flatMap((process) =>
      process.model.turns.slice(0, this.#turnsAtDeath.get(process)).map(({ request }) => request),
    );
  }

  /** Whether the webhook is being asked for a call. */
  isAsked(at: number): boolean {
    return this.#questionsOf(at).some((question) => question.isOpen);
  }

  async pending(): Promise<readonly string[]> {
    const query = { limit: 10, state: 'pending' } as const;
    const { data } = await this.process.supervisor.listApprovals(query);
    return data.map(({ decision_id: id }) => id).toSorted();
  }

  #questionsOf(at: number): readonly ScriptedQuestion[] {
    const ids = this.decisionIds[at] ?? [];
    return this.channel.questions.filter(({ question }) => ids.includes(question.decisionId));
  }

  #question(at: number): ScriptedQuestion | undefined {
    return this.#questionsOf(at).find((question) => question.isOpen);
  }

  #execution(at: number) {
    const { executions } = this.process.tools;
    return executions.findLast(({ context }) => context.toolCallId === callId(at));
  }

  async #newestRun(): Promise<string> {
    return (await this.newest()).run_id;
  }

  /** The run of the chain that came last. */
  async newest(): Promise<RunRecord> {
    const { data } = await this.process.supervisor.listRuns({ limit: 1 });
    return required(data[0]);
  }

  /** Long enough for every bound. */
  async waitLong(): Promise<void> {
    await this.#passTo(this.#now + TIMES.later);
    await this.settle();
  }

  async #passTo(moment: number): Promise<void> {
    await this.process.clock.advance(moment - this.#now);
    this.#now = moment;
  }

  async #reboot(): Promise<void> {
    this.#turnsAtDeath.set(this.process, this.#turnsAtRest);
    this.process.kill();
    this.channel.isDead = true;
    this.#now += TIMES.reboot;
    await this.#boot(BOOT_TURNS);
  }

  async #boot(turns: number): Promise<void> {
    const channel = new ScriptedChannel(this.notices, this.setting.notices);
    this.channels.push(channel);
    const options = optionsOf(this.setting, channel);
    this.processes.push(await this.host.boot(options, { afterMs: this.#now, turns }));
    if (this.#isDeaf) this.process.tools.deaf.add(TOOL);
    await this.settle();
  }
}

export const callId = (at: number): string => `call-${at}`;

export const argumentsOf = (at: number) => ({ at });

export const resultOf = (at: number): string => `result of ${at}`;

/** No clock but those of the approvals, of parking and of stops. */
function optionsOf({ route }: Setting, channel: ScriptedChannel): RunWorldOptions {
  return {
    tools: [TOOL],
    requireApproval: [TOOL],
    limits: { stepMs: 0, totalMs: 0, firstChunkMs: 0, inactivityMs: 0, parkMs: TIMES.park },
    toolTimeoutMs: 0,
    approvalTimeoutMs: TIMES.expiry,
    graceMs: 0,
    agent: {
      approvalReminderMs: TIMES.reminder,
      ...(route === 'webhook' && { approvalChannel: channel }),
    },
  };
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the test expects something that is not there');
  return value;
}
