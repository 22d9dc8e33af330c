import type { ChatMessage, ToolCall } from '../model.ts';

/**
 * The conversation of one run as the model sees it. It always pairs a tool call with a result, so
 * that the next request is one a strict provider accepts.
 */
export class Conversation {
  readonly #messages: ChatMessage[];
  readonly #turns: ChatMessage[] = [];

  constructor(systemPrompt: string, messages: readonly ChatMessage[]) {
    const system = systemPrompt.trim() === '' ? [] : [{ role: 'system', content: systemPrompt }];
    this.#messages = [...(system as ChatMessage[]), ...messages];
  }

  /** What the next turn is asked with. */
  get messages(): readonly ChatMessage[] {
    return [...this.#messages, ...this.#turns];
  }

  /** What this run added: assistant turns and tool results. */
  get turns(): readonly ChatMessage[] {
    return this.#turns;
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
