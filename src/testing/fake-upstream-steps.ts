/** What a fake upstream does, one after the other, while it answers. All of it is data. */
export type UpstreamStep =
  /** A frame with this chunk; `id`, `object`, `created` and `model` are filled in. */
  | { readonly kind: 'chunk'; readonly chunk: Readonly<Record<string, unknown>> }
  /** The chunk with the usage, sent only to a request that asked for it, as OpenAI does. */
  | { readonly kind: 'usage'; readonly usage: UpstreamUsage }
  /** These bytes as they are: half a frame, a comment, nonsense. */
  | { readonly kind: 'raw'; readonly bytes: string | Uint8Array }
  /** Goes on when the test says so. */
  | { readonly kind: 'gate'; readonly open: Promise<unknown> }
  /** Milliseconds under the upstream's clock. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Says nothing more until the client is gone. */
  | { readonly kind: 'stall' }
  /** Destroys the connection. */
  | { readonly kind: 'cut' }
  /** `[DONE]` and the end of the response in one write. */
  | { readonly kind: 'done' };

/** As the wire has it. */
export interface UpstreamUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** A call that the fake model makes. */
export interface UpstreamToolCall {
  readonly id: string;
  readonly name: string;
  /** An object is written as JSON, a text goes out as it is. */
  readonly arguments: string | Readonly<Record<string, unknown>>;
}

/** A whole answer in the usual order: reasoning, text, tool calls, finish, usage, `[DONE]`. */
export interface ReplyOptions {
  readonly reasoning?: readonly string[];
  /** One chunk each. */
  readonly text?: readonly string[];
  readonly toolCalls?: readonly UpstreamToolCall[];
  /** `tool_calls` where there are some, else `stop`. */
  readonly finishReason?: string;
  readonly usage?: UpstreamUsage;
  /** A delay before each chunk of text. */
  readonly everyMs?: number;
}

/** The steps of a whole answer. */
export function reply(options: ReplyOptions): UpstreamStep[] {
  const { reasoning = [], text = [], toolCalls = [], everyMs = 0 } = options;
  const pace: UpstreamStep[] = everyMs > 0 ? [{ kind: 'delay', ms: everyMs }] : [];
  return [
    delta({ role: 'assistant', content: '' }),
    ...reasoning.map((part) => delta({ reasoning_content: part })),
    ...text.flatMap((part) => [...pace, delta({ content: part })]),
    ...toolCalls.flatMap(toolCallParts),
    finish(options.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop')),
    ...(options.usage === undefined ? [] : [{ kind: 'usage', usage: options.usage } as const]),
    { kind: 'done' },
  ];
}

/** A chunk of the answer's one choice. */
export function delta(fields: Readonly<Record<string, unknown>>): UpstreamStep {
  return { kind: 'chunk', chunk: { choices: [{ index: 0, delta: fields, finish_reason: null }] } };
}

/** The chunk that ends the choice. */
export function finish(reason: string): UpstreamStep {
  return { kind: 'chunk', chunk: { choices: [{ index: 0, delta: {}, finish_reason: reason }] } };
}

/** A call as OpenAI streams it: its head, then its arguments in two parts. */
export function toolCallParts(call: UpstreamToolCall, index: number): UpstreamStep[] {
  const { id, name } = call;
  const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
  const middle = Math.ceil(text.length / 2);
  const part = (fields: Readonly<Record<string, unknown>>): UpstreamStep =>
    delta({ tool_calls: [{ index, ...fields }] });
  return [
    part({ id, type: 'function', function: { name, arguments: '' } }),
    part({ function: { arguments: text.slice(0, middle) } }),
    part({ function: { arguments: text.slice(middle) } }),
  ];
}
