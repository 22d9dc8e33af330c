import type { Usage } from '../../machines/vocabulary.ts';
import { steadyNow } from '../clock.ts';
import type { FinishReason, ModelSink, ToolCall } from '../model.ts';
import { tellCallRequested } from '../facts/call-requested.ts';
import type { RunScope } from './run-scope.ts';

/**
 * Takes what the model sends and puts it into the journal. The chart hears of the first thing and
 * of the end; a text delta costs one append and one timestamp.
 */
export class TurnSink implements ModelSink {
  readonly calls: ToolCall[] = [];
  answer = '';
  reported: Usage | undefined;
  finished: FinishReason | undefined;
  /** Output was passed on, so that another attempt would double it (TU2). */
  begun = false;
  readonly #scope: RunScope;
  readonly #signal: AbortSignal;
  readonly #onFirst: () => void;
  #heard = false;

  constructor(scope: RunScope, signal: AbortSignal, onFirst: () => void) {
    this.#scope = scope;
    this.#signal = signal;
    this.#onFirst = onFirst;
  }

  text(delta: string): void {
    if (delta === '' || !this.#hear()) return;
    this.begun = true;
    this.answer += delta;
    this.#scope.journal.text(delta);
  }

  reasoning(content: string): void {
    if (content === '' || !this.#hear()) return;
    this.begun = true;
    this.#scope.journal.append('agent', { type: 'reasoning', content });
  }

  toolCall(asked: ToolCall): void {
    if (!this.#hear()) return;
    this.begun = true;
    const call = this.#scope.addCall(asked);
    this.calls.push(call.call);
    tellCallRequested(this.#scope, call);
  }

  usage(usage: Usage): void {
    if (this.#hear()) this.reported = usage;
  }

  finish(reason: FinishReason): void {
    if (this.#hear()) this.finished = reason;
  }

  activity(): void {
    this.#hear();
  }

  full(): Promise<void> | undefined {
    return this.#scope.journal.full();
  }

  /** False once the attempt was stopped: what still comes is dropped (INV-15, INV-23). */
  #hear(): boolean {
    if (this.#signal.aborted || this.#scope.stop.signal.aborted) return false;
    this.#scope.lastActivityAt = steadyNow(this.#scope.clock);
    if (!this.#heard) {
      this.#heard = true;
      this.#onFirst();
    }
    return true;
  }
}
