import { randomUUID } from 'node:crypto';
import type { ChatMessage, ModelProvider, ModelRequest, ToolCall } from '../model.ts';
import type { Clock } from '../clock.ts';
import { type Intent, intentsOf } from './demo-intents.ts';
import { createScriptedProvider, type ScriptStep, type ScriptTurn } from './scripted.ts';

export interface DemoOptions {
  readonly clock: Clock;
  /** For tests; random without it. */
  readonly mintToolCallId?: () => string;
}

const WORD_MS = 30;
const CONTEXT_WINDOW = 8_192;

/** Results are retold to a person, so a long one is cut. */
const RESULT_CHARS_MAX = 300;

/**
 * The demo agent's model: no network, no key, no understanding beyond a handful of requests. It
 * speaks at the pace of a real one, calls the tools of the bundled MCP server when it is asked
 * to and has them, tells their results, and says what it is to everything else.
 */
export function createDemoProvider(options: DemoOptions): ModelProvider {
  const mintId = options.mintToolCallId ?? (() => `call_${randomUUID().replaceAll('-', '')}`);
  return createScriptedProvider({
    clock: options.clock,
    model: 'demo',
    contextWindow: CONTEXT_WINDOW,
    script: (request) => turnFor(request, mintId),
  });
}

function turnFor(request: ModelRequest, mintId: () => string): ScriptTurn {
  const results = resultsOf(request.messages);
  if (results.length > 0) return speak(request, results.map(retell).join(' '));
  const prompt = request.messages.findLast((message) => message.role === 'user')?.content ?? '';
  const wanted = intentsOf(prompt.trim());
  const known = new Set(request.tools.map(({ name }) => name));
  const possible = wanted.filter(({ tool }) => known.has(tool));
  if (possible.length > 0) return call(request, possible, mintId);
  const [missing] = wanted;
  return speak(
    request,
    missing === undefined ? introduce(prompt, known) : regret(missing, request),
  );
}

interface Result {
  readonly tool: string;
  readonly text: string;
}

/** What the tools answered since the model last spoke. */
function resultsOf(messages: readonly ChatMessage[]): readonly Result[] {
  const last = messages.findLastIndex((message) => message.role !== 'tool');
  const asked = messages[last];
  const calls = asked?.role === 'assistant' ? (asked.toolCalls ?? []) : [];
  return messages.slice(last + 1).flatMap((message) => {
    if (message.role !== 'tool') return [];
    const made = calls.find(({ id }) => id === message.toolCallId);
    return [{ tool: made?.name ?? 'tool', text: message.content }];
  });
}

function retell({ tool, text }: Result): string {
  const told = shorten(text);
  if (/approval denial|blocked by human/i.test(text)) {
    return `You did not approve ${tool}, so it was not run.`;
  }
  if (/approval (timed out|cancelled)/i.test(text)) {
    return `Nobody approved ${tool} in time, so it was not run.`;
  }
  if (
    /^(tool returned an error|tool execution failed|toolcallerror|jsonerror|error)\b/i.test(text)
  ) {
    return `The tool ${tool} failed and said: ${told}`;
  }
  return `The tool ${tool} is done. It answered: ${told}`;
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return 'nothing.';
  return line.length > RESULT_CHARS_MAX ? `${line.slice(0, RESULT_CHARS_MAX)}…` : line;
}

/** Its instructions may say who has the tool. */
function regret({ tool }: Intent, { messages }: ModelRequest): string {
  const instructions = messages.filter(({ role }) => role === 'system');
  const sentences = instructions.flatMap(({ content }) => content.match(/[^.!?]+[.!?]/g) ?? []);
  const known = sentences.find((sentence) => sentence.includes(`has ${tool}`));
  const hint = known === undefined ? '' : ` ${shorten(known)}`;
  return `That needs the tool ${tool}, which this agent does not have at the moment.${hint}`;
}

const EXAMPLES: Readonly<Record<string, string>> = {
  slow_count: '"count slowly to 5" shows progress',
  add: '"add 2 and 3" calls a tool',
  delete_file: '"delete notes.txt" asks a person first',
  deploy: '"deploy web" asks a person for the reason',
  always_fails: '"fail" shows a failing tool',
  ignores_cancel: '"run the stubborn tool" shows one that will not stop',
};

function introduce(prompt: string, known: ReadonlySet<string>): string {
  const subject = shorten(prompt).slice(0, 80);
  const examples = Object.entries(EXAMPLES).filter(([tool]) => known.has(tool));
  const hint =
    examples.length > 0
      ? `Try one of these: ${examples.map(([, example]) => example).join('; ')}.`
      : 'No tools are connected at the moment, so I can only talk.';
  return (
    `You said: ${subject} — I am the demo model of Runwarden. I follow a script and have no ` +
    'network behind me, but the run around me is real: it streams, it can be cancelled, and its ' +
    `tools run in a process of their own. ${hint}`
  );
}

function speak(request: ModelRequest, text: string): ScriptTurn {
  return [...words(text, 'text'), ...ending(request, text, 'stop')];
}

function call(request: ModelRequest, intents: readonly Intent[], mintId: () => string): ScriptTurn {
  const thought = intents.map(({ because }) => because).join(' ');
  const calls = intents.map(
    ({ tool, args }): ToolCall => ({
      id: mintId(),
      name: tool,
      argumentsText: JSON.stringify(args),
    }),
  );
  return [
    ...words(thought, 'reasoning'),
    ...calls.map((made): ScriptStep => ({ do: 'toolCall', call: made, afterMs: WORD_MS })),
    ...ending(request, `${thought} ${JSON.stringify(calls)}`, 'tool_calls'),
  ];
}

/** A delta a word, each but the first with the space before it. */
function words(text: string, kind: 'text' | 'reasoning'): ScriptStep[] {
  const deltas = text.match(/\s*\S+/g) ?? [];
  return deltas.map((delta) => ({ do: kind, text: delta, afterMs: WORD_MS }));
}

function ending(
  { messages }: ModelRequest,
  said: string,
  reason: 'stop' | 'tool_calls',
): ScriptStep[] {
  const promptTokens = messages.reduce((sum, { content }) => sum + tokensOf(content), 0);
  const completionTokens = tokensOf(said);
  const totalTokens = promptTokens + completionTokens;
  return [
    { do: 'finish', reason },
    { do: 'usage', usage: { promptTokens, completionTokens, totalTokens } },
  ];
}

/** English has about four tokens to three words. */
function tokensOf(text: string): number {
  return Math.ceil(((text.match(/\S+/g) ?? []).length * 4) / 3);
}
