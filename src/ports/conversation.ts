import type { ChatMessage, ToolCall } from '../model.ts';

/**
 * The conversation of one run as the model sees it. It always pairs a tool call with a result, so
 * that the next request is one a strict provider accepts.
 */
export class Conversation {
  readonly #system: readonly ChatMessage[];
  #base: readonly ChatMessage[];
  readonly #turns: ChatMessage[] = [];

  constructor(systemPrompt: string, messages: readonly ChatMessage[]) {
    this.#system = systemPrompt.trim() === '' ? [] : [{ role: 'system', content: systemPrompt }];
    this.#base = messages;
  }

  /** What the next turn is asked with. */
  get messages(): readonly ChatMessage[] {
    return [...this.#system, ...this.#base, ...this.#turns];
  }

  /** All of it but the agent's own system prompt, which may change until somebody goes on with it. */
  get spoken(): readonly ChatMessage[] {
    return [...this.#base, ...this.#turns];
  }

  /** What this run added: assistant turns and tool results. */
  get turns(): readonly ChatMessage[] {
    return this.#turns;
  }

  /** It goes on with an earlier one. Before the first turn alone. */
  precede(earlier: readonly ChatMessage[]): void {
    this.#base = [...earlier, ...this.#base];
  }

  /** A turn with neither text nor calls leaves no message: providers refuse an empty one. */
  addAnswer(content: string, toolCalls: readonly ToolCall[]): void {
    if (content === '' && toolCalls.length === 0) return;
    this.#turns.push({
      role: 'assistant',
      content,
      ...(toolCalls.length > 0 && { toolCalls }),
    });
  }

  /** A turn that was cut off: what there is of it stays, and says so. */
  addInterrupted(content: string): void {
    if (content === '') return;
    this.#turns.push({ role: 'assistant', content, interrupted: true });
  }

  /**
   * Results in the order the calls were made (not the order they ended), as providers expect;
   * `resultOf` has one for each.
   */
  addResults(toolCalls: readonly ToolCall[], resultOf: (id: string) => string): void {
    for (const { id } of toolCalls) {
      this.#turns.push({ role: 'tool', toolCallId: id, content: resultOf(id) });
    }
  }
}
