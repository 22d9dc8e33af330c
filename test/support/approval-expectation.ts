import { ExpectedApproval, ExpectedCall, type Winner } from './approval-expected-call.ts';
import {
  type Answer,
  type CallStimulus,
  decisionIn,
  type Said,
  type Setting,
  momentOf,
  type Stimulus,
  TIMES,
} from './approval-stimuli.ts';

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
  /** When those expire that were asked for last. */
  expiry: number = TIMES.expiry;
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
    const { calls, route } = setting;
    this.calls = Array.from(
      { length: calls },
      () => new ExpectedCall(new ExpectedApproval(this.now, route)),
    );
  }

  /** Whether a person, or who answers for one, may still decide it. */
  isOpen({ approval }: ExpectedCall): boolean {
    return approval.winner === undefined && (this.run === 'live' || this.run === 'parked');
  }

  /** What a decision would be answered now; `nth` is which approval of the call it is for. */
  answerTo(
    call: ExpectedCall,
    { approved, signed }: Said,
    nth = call.approvals.length - 1,
  ): Answer {
    const isHis = this.setting.route === 'conversational' || signed;
    if (!isHis) return 'unknown';
    const isLast = nth === call.approvals.length - 1;
    if (isLast && this.isOpen(call)) return 'recorded';
    // How one ended is kept, whatever becomes of its run and its process.
    const { winner } = call.approvals[nth] ?? call.approval;
    return winner === (approved ? 'approved' : 'denied') ? 'repeated' : 'unknown';
  }

  /** The answer that a decision is to get; undefined for any other stimulus. */
  apply(stimulus: Stimulus): Answer | undefined {
    if (stimulus.call !== undefined) return this.#applyToCall(stimulus);
    const { deed, until = momentOf(this, deed) } = stimulus;
    if (until !== undefined) this.#passTo(until);
    switch (deed) {
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

  #applyToCall({ deed, call: at, nth }: CallStimulus): Answer | undefined {
    const call = this.#call(at);
    const said = decisionIn(deed);
    if (said !== undefined) return this.#decide(call, said, nth);
    switch (deed) {
      case 'hook yes':
      case 'hook no':
        this.#settle(call, deed === 'hook yes');
        break;
      case 'hook busy':
        call.approval.fail(this.now);
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

  #decide(call: ExpectedCall, decision: Said, nth: number | undefined): Answer {
    const answer = this.answerTo(call, decision, nth);
    if (answer !== 'recorded') return answer;
    call.approval.isByInbox = true;
    // Whoever was asked has not answered himself.
    if (this.#asksWebhook) call.approval.notice = 'decided';
    this.#settle(call, decision.approved);
    if (this.run === 'parked') this.#comeBack();
    else this.#goOn();
    return answer;
  }

  /** A decision has won. Of a parked run it is kept until the run goes on. */
  #settle(call: ExpectedCall, approved: boolean): void {
    call.approval.winner = approved ? 'approved' : 'denied';
    if (this.run !== 'parked') call.tell();
  }

  /** Something else has won. */
  #refuse(call: ExpectedCall, winner: Winner, notice: string = winner): void {
    call.approval.winner = winner;
    if (this.#asksWebhook) call.approval.notice = notice;
    if (this.run !== 'parked') call.tell();
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
    for (const call of this.calls) {
      if (this.#asksWebhook && call.work === 'held') call.approval.takeBack(cause);
      call.leaveOff();
    }
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
      if (call.approval.winner === undefined) this.#refuse(call, `cancelled ${cause}`, cause);
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
      if (call.approval.winner === undefined) this.#refuse(call, 'cancelled external');
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
      if (this.#asksWebhook) this.#askAnew(call);
      else call.tell();
    }
    this.#goOn();
  }

  #askAnew({ approvals }: ExpectedCall): void {
    approvals.push(new ExpectedApproval(this.now, 'webhook'));
    this.expiry = this.now + TIMES.expiry;
  }

  get #asksWebhook(): boolean {
    return this.setting.route === 'webhook';
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

  /** A parked run that nobody parked by hand comes back when the last one decided in the inbox is over. */
  #comeBack(): void {
    if (this.#isSlow || this.#asksWebhook) return;
    const held = this.calls.filter(({ work }) => work === 'held');
    if (this.run !== 'parked' || this.isParkedByHand || this.process !== 'up') return;
    if (held.length > 0 && held.every((call) => !this.isOpen(call))) this.#resume();
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
      if (call.approval.winner === undefined) {
        this.#refuse(call, 'cancelled owner_lost', 'owner_lost');
      }
    }
    this.#end(this.isStopRecorded ? 'cancelled external' : 'failed owner_lost');
  }

  #expireParked(): void {
    if (this.now < this.expiry) return;
    for (const call of this.calls) if (this.isOpen(call)) this.#refuse(call, 'timed_out');
  }

  #passTo(target: number): void {
    for (let due = this.#nextDue(target); due !== undefined; due = this.#nextDue(target)) {
      this.now = due;
      this.#reach();
    }
    this.now = target;
    for (const { approval } of this.calls) approval.askAgain(this.now);
  }

  #nextDue(target: number): number | undefined {
    const isAsked = this.process !== 'gone' && this.calls.some((call) => this.isOpen(call));
    const times = [
      this.process === 'gone' ? undefined : this.parking?.by,
      this.run === 'stopping' ? this.stop?.by : undefined,
      isAsked ? this.expiry : undefined,
      ...this.calls.map(({ approval }) => approval.remindAt),
    ];
    const due = times.filter((at) => at !== undefined && at <= target && at >= this.now);
    return due.length === 0 ? undefined : Math.min(...(due as number[]));
  }

  #reach(): void {
    for (const { approval } of this.calls) approval.remind(this.now);
    if (this.now === this.expiry) this.#expire();
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
      call.approval.askAgain(this.now);
      this.#refuse(call, call.approval.question === 'failed' ? 'errored' : 'timed_out');
    }
    this.#goOn();
  }

  #call(at: number): ExpectedCall {
    const call = this.calls[at];
    if (call === undefined) throw new Error(`there is no call ${at}`);
    return call;
  }
}
