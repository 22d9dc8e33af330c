import type { AgentEvent, UsageFields } from '../../journal/events.ts';
import type { ToolResultMode } from '../config.ts';
import { truncate } from './truncate.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface ChunkOptions {
  readonly completionId: string;
  readonly createdSecs: number;
  /** Provider and model, as every response names them. */
  readonly model: string;
  /** Which calls that the server executes are shown, and how. */
  readonly toolMode: ToolResultMode;
  /** Bound of a streamed tool result; 0 is none. */
  readonly toolResultBytesMax: number;
}

type ToolRequested = Extract<AgentEvent, { type: 'tool_requested' }>;
type ToolComplete = Extract<AgentEvent, { type: 'tool_complete' }>;

interface ToolCallDelta {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

const CHUNK_END = '}}]}\n\n';
const ROLE = '"role":"assistant"';

/**
 * Writes `chat.completion.chunk` frames. Strict clients need three things of them: the role on the
 * first chunk of whatever kind, dense tool call indexes, and one finish reason, on the last chunk.
 */
export class OpenAiChunks {
  /** Up to and with the opening brace of `delta`. */
  readonly #head: string;
  readonly #contentHead: string;
  readonly #options: ChunkOptions;
  readonly #indexes = new Map<string, number>();
  #calls = 0;
  #roleSent = false;
  #separatorDue = false;
  /** The next text needs neither role nor separator: the usual case, kept cheap. */
  #plain = false;

  constructor(options: ChunkOptions) {
    const { completionId: id, createdSecs: created, model } = options;
    const fields = JSON.stringify({ id, object: 'chat.completion.chunk', created, model });
    this.#head = `data: ${fields.slice(0, -1)},"choices":[{"index":0,"delta":{`;
    this.#contentHead = `${this.#head}"content":`;
    this.#options = options;
  }

  /** One delta of the answer; `textJson` is its JSON literal. Empty text makes no chunk. */
  text(textJson: string): string {
    if (textJson === '""') return '';
    if (this.#plain) return this.#contentHead + textJson + CHUNK_END;
    return this.#specialText(textJson);
  }

  /** Sets the next text apart from text that is out. */
  paragraph(): void {
    if (this.#plain) this.#separate();
  }

  /** A call the model made. The caller's own calls always carry their arguments. */
  toolCall(event: ToolRequested): string {
    const { toolMode } = this.#options;
    const isClient = event.client === true;
    if (toolMode === 'hidden' && !isClient) return '';
    const index = this.#calls++;
    this.#indexes.set(event.tool_id, index);
    const empty = toolMode === 'open-web-ui' && !isClient;
    const text = empty ? '' : event.arguments_text;
    return this.#toolChunk({ index, id: event.tool_id, name: event.tool_name, arguments: text });
  }

  /** The end of a call that the server executed; text that follows is set apart from what was. */
  toolResult(event: ToolComplete): string {
    // Nobody sees a hidden call, so an answer that begins behind one has nothing to be set apart from.
    if (this.#options.toolMode === 'hidden') this.paragraph();
    else this.#separate();
    const index = this.#indexes.get(event.tool_id);
    if (this.#options.toolMode !== 'open-web-ui' || index === undefined) return '';
    const quoted = JSON.stringify(event.result ?? event.error ?? '');
    const text = truncate(quoted, this.#options.toolResultBytesMax);
    return this.#toolChunk({ index, id: event.tool_id, name: '', arguments: text });
  }

  /** The last chunk. Usage of zeros says that the provider told none, and is left out. */
  finish(reason: FinishReason, usage: UsageFields): string {
    const opening = this.#roleSent ? '' : `${this.#head}${this.#role('')}${CHUNK_END}`;
    const choice = `${this.#head}},"finish_reason":"${reason}"}]`;
    return `${opening}${choice}${usageJson(usage)}}\n\n`;
  }

  #separate(): void {
    this.#separatorDue = true;
    this.#plain = false;
  }

  #specialText(textJson: string): string {
    const text = this.#separatorDue ? `"\\n\\n${textJson.slice(1)}` : textJson;
    const frame = `${this.#head}${this.#role(',')}"content":${text}${CHUNK_END}`;
    this.#separatorDue = false;
    this.#plain = true;
    return frame;
  }

  #toolChunk(delta: ToolCallDelta): string {
    const { index, id, name } = delta;
    const call = { index, id, type: 'function', function: { name, arguments: delta.arguments } };
    return `${this.#head}${this.#role(',')}"tool_calls":[${JSON.stringify(call)}]${CHUNK_END}`;
  }

  #role(comma: string): string {
    if (this.#roleSent) return '';
    this.#roleSent = true;
    return ROLE + comma;
  }
}

function usageJson(usage: UsageFields): string {
  const { prompt_tokens, completion_tokens, total_tokens } = usage;
  if (prompt_tokens === 0 && completion_tokens === 0 && total_tokens === 0) return '';
  return `,"usage":${JSON.stringify({ prompt_tokens, completion_tokens, total_tokens })}`;
}
