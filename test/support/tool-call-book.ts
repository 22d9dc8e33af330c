import type { ApprovalRoute } from '../../machines/vocabulary.ts';
import { APPROVAL } from '../model/samples.ts';

/** Bound of one execution. */
export const TOOL_MS = 20_000;

export interface BookedCall {
  readonly gated: boolean;
  readonly forbidden: boolean;
  readonly route: ApprovalRoute;
}

/** What the test knows of a call, told without the chart, as long as nothing stops it. */
export class ToolCallBook {
  readonly #kind: BookedCall;
  nowMs = 0;
  phase: 'idle' | 'gated' | 'running' | 'over' = 'idle';
  isStopped = false;
  executions = 0;
  /** When those expire that somebody is asked for, by decision id. */
  readonly open = new Map<string, number>();
  readonly asked = new Set<string>();
  /** By the webhook itself; who signs a decision is somebody else. */
  readonly #answered = new Set<string>();
  /** Since when the tool works without waiting for a person. */
  #worksSince = 0;

  constructor(kind: BookedCall) {
    this.#kind = kind;
  }

  /** Those whom nobody needs any more and who do not know it. */
  get owed(): readonly string[] {
    if (this.#kind.route === 'conversational') return [];
    return [...this.asked].filter((id) => !this.#answered.has(id) && !this.open.has(id));
  }

  begin(): void {
    if (this.phase !== 'idle' || this.isStopped) return;
    if (this.#kind.forbidden) this.phase = 'over';
    else if (this.#kind.gated) {
      this.phase = 'gated';
      this.#ask(APPROVAL.decisionId);
    } else this.#run();
  }

  ask(id: string): void {
    if (this.phase === 'running' && !this.open.has(id) && !this.asked.has(id)) this.#ask(id);
  }

  decide(id: string, approved: boolean): void {
    if (this.open.delete(id)) this.#goOn(approved);
  }

  answer(id: string, approved: boolean): void {
    this.#answered.add(id);
    this.decide(id, approved);
  }

  /** A question ended without a decision. */
  fail(id: string): void {
    if (this.open.delete(id)) this.#goOn(false);
  }

  stop(): void {
    this.isStopped = true;
    this.end();
  }

  /** The tool is over, or never ran: whom it asked is not asked any more. */
  end(): void {
    this.phase = 'over';
    this.open.clear();
  }

  wait(ms: number): void {
    const until = this.nowMs + ms;
    for (let due = this.#due(); due <= until; due = this.#due()) {
      this.nowMs = due;
      const expired = [...this.open].filter(([, at]) => at <= due);
      for (const [id] of expired) this.fail(id);
      if (expired.length === 0) this.end(); // The tool's own deadline.
    }
    this.nowMs = until;
  }

  #due(): number {
    const deadline = this.#worksSince + TOOL_MS;
    const isWorking = this.phase === 'running' && this.open.size === 0;
    return Math.min(...this.open.values(), isWorking ? deadline : Number.POSITIVE_INFINITY);
  }

  #ask(id: string): void {
    this.open.set(id, this.nowMs + APPROVAL.timeoutMs);
    this.asked.add(id);
  }

  #goOn(approved: boolean): void {
    if (this.phase === 'running' && this.open.size === 0) this.#worksSince = this.nowMs;
    if (this.phase !== 'gated') return;
    if (approved) this.#run();
    else this.end();
  }

  #run(): void {
    this.phase = 'running';
    this.executions += 1;
    this.#worksSince = this.nowMs;
  }
}
