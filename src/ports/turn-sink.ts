import type { Usage } from '../../machines/vocabulary.ts';
import type { FinishReason, ModelSink, ToolCall } from '../model.ts';
import { isTooDeep } from '../json-depth.ts';
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
    this.calls.push(call);
    const client = this.#scope.isClientTool(call.name);
    this.#scope.journal.append('agent', {
      type: 'tool_requested',
      tool_id: call.id,
      tool_name: call.name,
      arguments: parseArguments(call.argumentsText) ?? {},
      arguments_text: call.argumentsText,
      ...(client && { client }),
    });
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
    this.#scope.lastActivityAt = this.#scope.clock.now();
    if (!this.#heard) {
      this.#heard = true;
      this.#onFirst();
    }
    return true;
  }
}

/**
 * The arguments as an object; undefined when the model's text is not one, or is one that nests
 * deeper than what writes it again can follow. An empty text is `{}`.
 */
export function parseArguments(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && !isTooDeep(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
