import type { ToolCall } from '../model.ts';
import { asRecord, asText } from './json.ts';
import { TOOL_ARGUMENTS_CHARS_MAX, TOOL_CALLS_MAX } from './limits.ts';
import { UnreadableAnswerError } from './unreadable.ts';

interface GatheredCall {
  id: string;
  name: string;
  argumentsText: string;
}

/**
 * Puts the tool calls of one answer together from their parts.
 *
 * G1. A part belongs to the call of its `index`. Without one it belongs to the call of its `id`,
 *     else to the last call; a part of another `id` at a known index begins another call, because
 *     some upstreams give every call the index 0.
 * G2. Every call has an id of its own in the whole conversation: a missing one, and one that
 *     another call has, is replaced by a minted one, once.
 * G3. Calls come out in the order in which they began.
 */
export class ToolCallGatherer {
  readonly #calls: GatheredCall[] = [];
  readonly #byIndex = new Map<number, GatheredCall>();
  readonly #takenIds: Set<string>;
  readonly #mintId: () => string;

  /** `takenIds` are those of the conversation's earlier calls. */
  constructor(takenIds: Iterable<string>, mintId: () => string) {
    this.#takenIds = new Set(takenIds);
    this.#mintId = mintId;
  }

  /** Takes one element of `delta.tool_calls`. Throws {@link UnreadableAnswerError}. */
  add(part: unknown): void {
    const { index, id, function: named } = asRecord(part);
    const { name, arguments: args } = asRecord(named);
    const call = this.#callOf(index, asText(id));
    call.id ||= asText(id);
    addName(call, asText(name));
    call.argumentsText += argumentsOf(args);
    if (call.argumentsText.length > TOOL_ARGUMENTS_CHARS_MAX) {
      throw new UnreadableAnswerError(
        `The arguments of a tool call exceed ${TOOL_ARGUMENTS_CHARS_MAX} characters.`,
      );
    }
  }

  /** The calls, each given once. Throws {@link UnreadableAnswerError} for one without a name. */
  take(): readonly ToolCall[] {
    const calls = this.#calls.splice(0).filter((call) => call.name || call.argumentsText);
    this.#byIndex.clear();
    return calls.map((call) => {
      if (call.name === '') throw new UnreadableAnswerError('A tool call has no name.');
      return { ...call, id: this.#ownId(call.id) };
    });
  }

  #callOf(index: unknown, id: string): GatheredCall {
    const known = typeof index === 'number' ? this.#byIndex.get(index) : this.#withoutIndex(id);
    const isOther = known !== undefined && id !== '' && known.id !== '' && known.id !== id;
    if (known !== undefined && !isOther) return known;
    return this.#begin(index);
  }

  #withoutIndex(id: string): GatheredCall | undefined {
    return id === '' ? this.#calls.at(-1) : this.#calls.find((call) => call.id === id);
  }

  #begin(index: unknown): GatheredCall {
    if (this.#calls.length === TOOL_CALLS_MAX) {
      throw new UnreadableAnswerError(`The answer calls more than ${TOOL_CALLS_MAX} tools.`);
    }
    const call = { id: '', name: '', argumentsText: '' };
    this.#calls.push(call);
    if (typeof index === 'number') this.#byIndex.set(index, call);
    return call;
  }

  #ownId(id: string): string {
    const own = id === '' || this.#takenIds.has(id) ? this.#mintId() : id;
    this.#takenIds.add(own);
    return own;
  }
}

/** The name comes at once; an upstream that repeats it with each part does not lengthen it. */
function addName(call: GatheredCall, name: string): void {
  if (call.name === '') call.name = name;
  else if (call.argumentsText === '' && name !== call.name) call.name += name;
}

/** Text in parts, or from some upstreams a whole object. */
function argumentsOf(args: unknown): string {
  if (typeof args === 'object' && args !== null) return JSON.stringify(args);
  return asText(args);
}
