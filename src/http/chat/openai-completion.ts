import type { StoredEntry } from '../../journal/reader.ts';
import { endingOf, type Ending, type EndingOptions } from './ending.ts';

export interface CompletionOptions extends EndingOptions {
  readonly completionId: string;
  readonly createdSecs: number;
  readonly sessionId: string;
}

type Answer = Extract<Ending, { kind: 'answer' }>;

interface ToolCallFields {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Gathers a run's journal into one `chat.completion` object. */
export class OpenAiCompletion {
  readonly #options: CompletionOptions;
  readonly #toolCalls: ToolCallFields[] = [];
  #text = '';
  #separatorDue = false;

  constructor(options: CompletionOptions) {
    this.#options = options;
  }

  /** Takes the next entry; says how the run ended when it is the terminal one. */
  add({ event }: StoredEntry): Ending | undefined {
    switch (event.type) {
      case 'text_delta':
        this.#add(event.text);
        return undefined;
      case 'tool_complete':
        this.#separatorDue = this.#text !== '';
        return undefined;
      case 'tool_requested': {
        const { tool_id: id, tool_name: name, arguments_text: text } = event;
        // Only the caller's own calls are its business; the server has executed the others.
        if (event.client !== true) return undefined;
        this.#toolCalls.push({ id, type: 'function', function: { name, arguments: text } });
        return undefined;
      }
      default:
        return endingOf(event, this.#options);
    }
  }

  /** The whole response as JSON. */
  json({ finishReason, usage }: Answer): string {
    const { completionId, createdSecs, model, sessionId } = this.#options;
    const { prompt_tokens, completion_tokens, total_tokens } = usage;
    const calls = finishReason === 'tool_calls' ? { tool_calls: this.#toolCalls } : {};
    const message = { role: 'assistant', content: this.#text, ...calls };
    return JSON.stringify({
      id: completionId,
      object: 'chat.completion',
      created: createdSecs,
      model,
      choices: [{ index: 0, message, finish_reason: finishReason }],
      usage: { prompt_tokens, completion_tokens, total_tokens },
      metadata: { chat_session_id: sessionId },
    });
  }

  #add(text: string): void {
    if (text === '') return;
    this.#text += this.#separatorDue ? `\n\n${text}` : text;
    this.#separatorDue = false;
  }
}
