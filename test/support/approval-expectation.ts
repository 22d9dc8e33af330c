import { ExpectedCall, type Winner } from './approval-expected-call.ts';
import { type Answer, type Setting, type Stimulus, TIMES } from './approval-stimuli.ts';

interface Parking {
  readonly cause: string;
  readonly by: number;
  readonly graceMs: number;
}

/**
 * What must come of stimuli, told from the decisions and the wire's description and without the
 * charts: who wins each approval, what a decision is answered, what runs, how the run ends.
 */
export class Expectation {
  readonly setting: Setting;
  readonly calls: readonly ExpectedCall[];
  now = 0;
  process: 'up' | 'draining' | 'gone' = 'up';
  run: 'live' | 'stopping' | 'parked' | 'over' = 'live';
  /** The model has been asked for its last answer. */
  isAnswering = false;
  isClaimed = true;
  isDeaf = false;
  /** Somebody parked it and only he brings it back. */
  isParkedByHand = false;
  /** An operator's stop that is on record. */
  isStopRecorded = false;
  parking: Parking | undefined;
  /** The cause of a stop, and until when it waits for deaf tools. */
  stop: { readonly cause: string; readonly by: number } | undefined;
  /** The run has not heard yet of what became of its calls. */
  #isSlow = false;
  /** The terminal of each run of the chain. */
  readonly ends: string[] = [];

  constructor(setting: Setting) {
    this.setting = setting;
    this.calls = Array.from({ length: setting.calls }, () => new ExpectedCall());
    for (const call of this.calls) this.#ask(call);
  }

  /** Whether a person, or who answers for one, may still decide it. */
  isOpen(call: ExpectedCall): boolean {
    return call.winner === undefined && (this.run === 'live' || this.run === 'parked');
  }

  /** What a decision would be answered now. */
  answerTo(call: ExpectedCall, decision: { approved: boolean; signed: boolean }): Answer {
    const { approved, signed } = decision;
    const isHis = this.setting.route === 'conversational' || signed;
    if (!isHis) return 'unknown';
    if (this.isOpen(call)) return 'recorded';
    const winner = approved ? 'approved' : 'denied';
    return call.winner === winner && call.rememberedBy.size > 0 ? 'repeated' : 'unknown';
  }

  /** The answer that a decision is to get; undefined for any other stimulus. */
  apply({ deed, call: at }: Stimulus): Answer | undefined {
    if (at !== undefined) return this.#applyToCall(deed as never, this.#call(at));
    switch (deed) {
      case 'remind':
        this.#passTo(this.nextReminder);
        break;
      case 'almost':
        this.#passTo(TIMES.expiry - 1);
        break;
      case 'expire':
        this.#passTo(TIMES.expiry);
        break;
      case 'later':
        this.#passTo(this.now + TIMES.later);
        break;
      case 'deafen':
        this.isDeaf = true;
        break;
      case 'cancel':
        this.#cancel();
        break;
      case 'leave':
        this.#leave();
        break;
      case 'park':
        this.#park('external', { boundMs: TIMES.park, graceMs: TIMES.toolGrace });
        break;
      case 'resume':
        this.#resume();
        break;
      case 'SIGTERM':
        this.#shutDown();
        break;
      case 'SIGTERM again':
        this.#abort();
        break;
      case 'reboot':
        this.#reboot();
        break;
      case 'answer':
        this.#end('finished');
        break;
      default:
    }
    return undefined;
  }

  /** The moments that reminders are told of one that was asked for at the start. */
  get nextReminder(): number {
    return (Math.floor(this.now / TIMES.reminder) + 1) * TIMES.reminder;
  }

  #applyToCall(deed: Stimulus['deed'], call: ExpectedCall): Answer | undefined {
    switch (deed) {
      case 'yes':
      case 'no':
        return this.#decide(call, { approved: deed === 'yes', signed: false });
      case 'signed yes':
      case 'signed no':
        return this.#decide(call, { approved: deed === 'signed yes', signed: true });
      case 'hook yes':
      case 'hook no':
        this.#settle(call, deed === 'hook yes');
        break;
      case 'hook busy':
        call.question = 'failed';
        call.failures += 1;
        call.failedAt = this.now;
        break;
      case 'hook broken':
        this.#refuse(call, 'errored');
        break;
      case 'tool returns':
        this.#return(call);
        break;
      default:
    }
    this.#goOn();
    return undefined;
  }

  #decide(call: ExpectedCall, decision: { approved: boolean; signed: boolean }): Answer {
    const answer = this.answerTo(call, decision);
    if (answer !== 'recorded') return answer;
    call.isByInbox = true;
    // Whoever was asked has not answered himself.
    if (this.setting.route === 'webhook') call.notice = 'decided';
    if (this.run === 'parked') call.isClosedInStore = true;
    this.#settle(call, decision.approved);
    if (this.run === 'parked') this.#comeBack();
    else this.#goOn();
    return answer;
  }

  /** A decision has won. Of a parked run it is kept until the run goes on. */
  #settle(call: ExpectedCall, approved: boolean): void {
    call.winner = approved ? 'approved' : 'denied';
    if (this.run === 'parked') call.rememberedBy.add('store');
    else this.#tell(call);
  }

  /** Something else has won. */
  #refuse(call: ExpectedCall, winner: Winner, notice: string = winner): void {
    call.winner = winner;
    if (this.setting.route === 'webhook') call.notice = notice;
    if (this.run !== 'parked') this.#tell(call);
  }

  /** The journal tells how it ended, and the call goes the way of that. */
  #tell(call: ExpectedCall): void {
    call.isTold = true;
    call.question = 'none';
    call.remindAt = Number.POSITIVE_INFINITY;
    if (call.winner === 'approved' || call.winner === 'denied') call.rememberedBy.add('process');
    if (call.winner === 'approved') {
      call.work = 'running';
      call.executions += 1;
      call.starts += 1;
    } else call.work = 'refused';
  }

  #return(call: ExpectedCall): void {
    call.work = call.work === 'stopping' ? 'cut' : 'returned';
    if (this.run === 'stopping') this.#endStopped();
  }

  /** The run comes to its next checkpoint, or to its last turn. */
  #goOn(): void {
    if (this.run !== 'live' || this.isAnswering || this.#isSlow) return;
    const open = this.calls.filter((call) => !call.isOver);
    if (this.parking !== undefined && open.every(({ work }) => work === 'held')) {
      const { cause } = this.parking;
      this.parking = undefined;
      this.#endParked(cause);
    } else if (open.length === 0) this.isAnswering = true;
  }

  #endParked(cause: string): void {
    this.ends.push(`parked ${cause}`);
    this.run = 'parked';
    this.isParkedByHand = cause === 'external';
    for (const call of this.calls) call.leaveOff();
    if (this.process === 'draining') this.process = 'gone';
  }

  #end(how: string): void {
    this.ends.push(how);
    this.run = 'over';
    this.parking = undefined;
    for (const call of this.calls) call.leaveOff();
    if (this.process === 'draining') this.process = 'gone';
  }

  #stopFor(cause: string, graceMs: number): void {
    this.run = 'stopping';
    this.parking = undefined;
    this.stop = { cause, by: this.now + graceMs };
    for (const call of this.calls) {
      if (call.winner === undefined) this.#refuse(call, `cancelled ${cause}`, cause);
      if (call.work === 'running') call.work = this.isDeaf ? 'stopping' : 'cut';
    }
    this.#endStopped();
  }

  #endStopped(): void {
    if (this.calls.some(({ work }) => work === 'stopping')) return;
    this.#end(`cancelled ${this.stop?.cause ?? ''}`);
  }

  #cancel(): void {
    if (this.run === 'parked') return this.#discard();
    this.isStopRecorded = true;
    if (this.run === 'live') this.#stopFor('external', TIMES.toolGrace);
  }

  /** A parked run is given up: nothing of it is told any more. */
  #discard(): void {
    for (const call of this.calls) {
      if (call.winner === undefined) this.#refuse(call, 'cancelled external', 'external');
    }
    this.run = 'over';
  }

  #leave(): void {
    this.isClaimed = false;
    const { policy } = this.setting;
    if (policy === 'cancel' && this.parking === undefined) {
      this.#stopFor('unclaimed', TIMES.toolGrace);
    }
    if (policy === 'park') {
      this.#park('unclaimed', { boundMs: TIMES.park, graceMs: TIMES.toolGrace });
    }
  }

  #park(cause: string, { boundMs, graceMs }: { boundMs: number; graceMs: number }): void {
    this.parking ??= { cause, by: this.now + boundMs, graceMs };
    this.#goOn();
  }

  #resume(): void {
    this.run = 'live';
    this.isClaimed = false;
    this.isStopRecorded = false;
    for (const call of this.calls) {
      if (call.isOver) continue;
      if (call.winner === undefined) this.#ask(call);
      else this.#tell(call);
    }
    this.#goOn();
  }

  #ask(call: ExpectedCall): void {
    call.failures = 0;
    call.question = this.setting.route === 'webhook' ? 'out' : 'none';
    call.remindAt = this.now + TIMES.reminder;
  }

  /** What happens from now on comes before the run goes on, or comes back. */
  hold(): void {
    this.#isSlow = true;
  }

  letGo(): void {
    this.#isSlow = false;
    this.#goOn();
    this.#comeBack();
  }

  /** A parked run that nobody parked by hand comes back when its last approval is over. */
  #comeBack(): void {
    if (this.#isSlow) return;
    const held = this.calls.filter(({ work }) => work === 'held');
    if (this.run !== 'parked' || this.isParkedByHand || this.process !== 'up') return;
    if (held.length > 0 && held.every(({ winner }) => winner !== undefined)) this.#resume();
  }

  #shutDown(): void {
    this.process = 'draining';
    if (this.run === 'parked' || this.run === 'over') this.process = 'gone';
    if (this.run !== 'live') return;
    if (this.setting.policy !== 'park') return this.#stopFor('shutdown', TIMES.drainGrace);
    const { cause = 'shutdown' } = this.parking ?? {};
    const by = this.now + TIMES.drainGrace;
    this.parking = { cause, by, graceMs: TIMES.unparkedGrace };
    this.#goOn();
  }

  /** The first cause stays the run's, also when it is cut off before it came to its end. */
  #abort(): void {
    if (this.run === 'live') this.#stopFor('shutdown', 0);
    if (this.run === 'stopping') this.#end(`cancelled ${this.stop?.cause ?? ''}`);
    this.process = 'gone';
  }

  #reboot(): void {
    this.now += TIMES.reboot;
    for (const call of this.calls) call.rememberedBy.delete('process');
    if (this.run === 'live' || this.run === 'stopping') this.#lose();
    this.process = 'up';
    if (this.run === 'parked') this.#expireParked();
    this.#comeBack();
  }

  /** The process had the run when it died. */
  #lose(): void {
    const { policy } = this.setting;
    const wait = this.calls.filter(({ work }) => work === 'held');
    const mayPark = policy !== 'cancel' && this.run === 'live' && !this.isStopRecorded;
    this.parking = undefined;
    if (mayPark && wait.length > 0) return this.#endParked('owner_lost');
    for (const call of this.calls) {
      if (call.winner === undefined) this.#refuse(call, 'cancelled error', 'owner_lost');
    }
    this.#end(this.isStopRecorded ? 'cancelled external' : 'failed owner_lost');
  }

  #expireParked(): void {
    if (this.now < TIMES.expiry) return;
    for (const call of this.calls) {
      if (!this.isOpen(call)) continue;
      call.isClosedInStore = true;
      this.#refuse(call, 'timed_out');
    }
  }

  #passTo(target: number): void {
    for (let due = this.#nextDue(target); due !== undefined; due = this.#nextDue(target)) {
      this.now = due;
      this.#reach();
    }
    this.now = target;
    for (const call of this.calls) call.askAgain(this.now);
  }

  #nextDue(target: number): number | undefined {
    const isAsked = this.process !== 'gone' && this.calls.some((call) => this.isOpen(call));
    const times = [
      this.process === 'gone' ? undefined : this.parking?.by,
      this.run === 'stopping' ? this.stop?.by : undefined,
      isAsked ? TIMES.expiry : undefined,
      ...this.calls.map(({ remindAt }) => remindAt),
    ];
    const due = times.filter((at) => at !== undefined && at <= target && at >= this.now);
    return due.length === 0 ? undefined : Math.min(...(due as number[]));
  }

  #reach(): void {
    for (const call of this.calls) call.remind(this.now);
    if (this.now === TIMES.expiry) this.#expire();
    if (this.parking !== undefined && this.now >= this.parking.by) {
      this.#stopFor(this.parking.cause, this.parking.graceMs);
    }
    if (this.run === 'stopping' && this.now >= (this.stop?.by ?? 0)) {
      for (const call of this.calls) if (call.work === 'stopping') call.work = 'cut';
      this.#endStopped();
    }
  }

  #expire(): void {
    if (this.run === 'parked') {
      this.#expireParked();
      return this.#comeBack();
    }
    for (const call of this.calls) {
      if (!this.isOpen(call)) continue;
      call.askAgain(this.now);
      this.#refuse(call, call.question === 'failed' ? 'errored' : 'timed_out');
    }
    this.#goOn();
  }

  #call(at: number): ExpectedCall {
    const call = this.calls[at];
    if (call === undefined) throw new Error(`there is no call ${at}`);
    return call;
  }
}
