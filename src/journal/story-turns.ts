import type { ChatMessage, ToolCall } from '../model.ts';
import type { JournalEvent } from './events.ts';

interface Turn {
  text: string;
  readonly calls: ToolCall[];
}

/**
 * The conversation that a run's entries tell of, for a run of which nothing else is known. Calls are
 * paired with what the entries say of their ends; one without an end gets `open` for its result.
 */
export class StoryTurns {
  readonly #turns: Turn[] = [];
  readonly #results = new Map<string, { readonly text: string; readonly isError: boolean }>();
  /** A call of the newest turn has ended, so that what the model says next is another turn. */
  #answered = false;

  /** The run's next entry. */
  note(event: JournalEvent): void {
    switch (event.type) {
      case 'text_delta':
        this.#turn().text += event.text;
        return;
      case 'tool_requested':
        this.#turn().calls.push({
          id: event.tool_id,
          name: event.tool_name,
          argumentsText: event.arguments_text,
        });
        return;
      case 'tool_complete': {
        const text = event.result ?? event.error ?? '';
        this.#results.set(event.tool_id, { text, isError: !event.success });
        this.#answered = true;
        return;
      }
      default:
    }
  }

  /** The call as the model asked for it. */
  call(toolId: string): ToolCall | undefined {
    for (const { calls } of this.#turns) {
      const call = calls.find(({ id }) => id === toolId);
      if (call !== undefined) return call;
    }
    return undefined;
  }

  /** How a call ended; undefined while it has not. */
  result(toolId: string): { readonly text: string; readonly isError: boolean } | undefined {
    return this.#results.get(toolId);
  }

  /** Each turn with its results. The last one is marked when nothing says that the model ended it. */
  messages(open: string): ChatMessage[] {
    return this.#turns.flatMap((turn, i) => {
      const isLast = i === this.#turns.length - 1;
      return [assistant(turn, isLast && turn.calls.length === 0), ...this.#pairs(turn, open)];
    });
  }

  #pairs({ calls }: Turn, open: string): ChatMessage[] {
    return calls.map(({ id: toolCallId }) => ({
      role: 'tool',
      toolCallId,
      content: this.#results.get(toolCallId)?.text ?? open,
    }));
  }

  #turn(): Turn {
    const last = this.#turns.at(-1);
    if (last !== undefined && !this.#answered) return last;
    this.#answered = false;
    const turn: Turn = { text: '', calls: [] };
    this.#turns.push(turn);
    return turn;
  }
}

const assistant = ({ text, calls }: Turn, interrupted: boolean): ChatMessage => ({
  role: 'assistant',
  content: text,
  ...(calls.length > 0 && { toolCalls: calls }),
  ...(interrupted && { interrupted: true as const }),
});
