import type { StoredEntry } from '../../journal/reader.ts';
import { dataFrame } from '../frame.ts';
import type { HttpError } from '../errors.ts';
import { AuraEvents, type AuraOptions } from './aura-events.ts';
import { endingOf, type Ending, type EndingOptions } from './ending.ts';
import { OpenAiChunks, type ChunkOptions } from './openai-chunks.ts';
import { textJsonOf } from './text-json.ts';

export type ProjectionOptions = ChunkOptions & AuraOptions & EndingOptions;

/** The last frame of every stream, whatever its end. */
export const DONE = 'data: [DONE]\n\n';

/** Turns a run's journal entries, in their order, into the frames of one chat stream. */
export class ChatProjection {
  readonly #options: ProjectionOptions;
  readonly #chunks: OpenAiChunks;
  readonly #aura: AuraEvents;
  #ended = false;

  constructor(options: ProjectionOptions) {
    this.#options = options;
    this.#chunks = new OpenAiChunks(options);
    this.#aura = new AuraEvents(options);
  }

  /** True once the terminal entry was seen: only {@link DONE} is left to send. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The frames of one entry, often none. An entry after the terminal one has none. */
  frames(entry: StoredEntry): string {
    if (this.#ended) return '';
    if (entry.type === 'text_delta') return this.#chunks.text(textJsonOf(entry));
    return this.#aura.frame(entry.event) + this.#chunk(entry);
  }

  /**
   * An end without an answer: a sentence for clients that show text, then the error. No chunk with
   * a finish reason follows, because the answer did not stop.
   */
  failure(error: HttpError, sentence?: string): string {
    this.#ended = true;
    this.#chunks.paragraph();
    const text = sentence === undefined ? '' : this.#chunks.text(JSON.stringify(sentence));
    return text + dataFrame(JSON.stringify(error.body), { event: 'error' });
  }

  #chunk({ event }: StoredEntry): string {
    if (event.type === 'tool_requested') return this.#chunks.toolCall(event);
    if (event.type === 'tool_complete') return this.#chunks.toolResult(event);
    const ending = endingOf(event, this.#options);
    return ending === undefined ? '' : this.#end(ending);
  }

  #end(ending: Ending): string {
    this.#ended = true;
    if (ending.kind === 'failure') return this.failure(ending.error, ending.sentence);
    return this.#chunks.finish(ending.finishReason, ending.usage);
  }
}
