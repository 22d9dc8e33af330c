import type { Tool, ToolContext, ToolResult } from '../../tool.ts';
import type { ProcessClock } from './world-clock.ts';
import type { ToolName, ToolPlay } from './steps.ts';

/** One execution, as the world saw it: not as the journal tells it. */
export interface Executed {
  readonly process: number;
  readonly tool: string;
  readonly callId: string;
  readonly runId: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Which of all that the world did and saw it was. */
  readonly order: number;
}

/** What a tool that nobody can stop takes at most, so that a world comes to rest. */
const DEAF_MS = 100_000;

/** Where the tools of a process act. */
export interface Workshop {
  readonly process: number;
  readonly clock: ProcessClock;
  readonly isDead: () => boolean;
  executed(execution: Omit<Executed, 'order' | 'process'>): void;
}

export const SERVER_TOOLS = [
  'safe',
  'again',
  'danger',
  'deaf',
  'asking',
] as const satisfies readonly ToolName[];

/** The tools of one process. */
export const toolsOf = (workshop: Workshop): readonly Tool[] =>
  SERVER_TOOLS.map((name) => ({
    spec: { name, parameters: { type: 'object' } },
    execute: async (args, context) => {
      // A dead process executes nothing, whatever its code still does.
      if (workshop.isDead()) return await new Promise<never>(() => {});
      const { toolCallId: callId, runId } = context;
      workshop.executed({ tool: name, callId, runId, args });
      context.started({});
      return await new Execution(name, {
        play: playOf(args),
        context,
        clock: workshop.clock,
      }).run();
    },
  }));

/** An approver may have put anything in the place of what the model asked for. */
function playOf({ ms, ends }: Readonly<Record<string, unknown>>): ToolPlay {
  return {
    ms: typeof ms === 'number' ? ms : 0,
    ends: ends === 'fails' || ends === 'rejects' || ends === 'hangs' ? ends : 'ok',
  };
}

class Execution {
  readonly #name: ToolName;
  readonly #play: ToolPlay;
  readonly #context: ToolContext;
  readonly #clock: ProcessClock;

  constructor(
    name: ToolName,
    { play, context, clock }: { play: ToolPlay; context: ToolContext; clock: ProcessClock },
  ) {
    this.#name = name;
    this.#play = play;
    this.#context = context;
    this.#clock = clock;
  }

  async run(): Promise<ToolResult> {
    const { ms, ends } = this.#play;
    const half = Math.floor(ms / 2);
    await this.#pass(half);
    this.#context.progress({ message: 'half of it', percent: 50 });
    const said = this.#name === 'asking' ? await this.#ask() : 'done';
    await this.#pass(ends === 'hangs' ? Number.POSITIVE_INFINITY : ms - half);
    if (ends === 'rejects') throw new Error('The tool cannot be executed.');
    const isError = ends === 'fails';
    return { text: isError ? 'Tool returned an error: no' : said, isError };
  }

  async #ask(): Promise<string> {
    const answer = await this.#context.elicit?.({
      server: 'desk',
      message: 'Go on?',
      schema: { type: 'object', properties: { sure: { type: 'boolean' } } },
    });
    return answer?.action ?? 'nobody to ask';
  }

  /** A deaf tool does not hear that it is to stop. */
  async #pass(ms: number): Promise<void> {
    const { signal } = this.#context;
    const isDeaf = this.#name === 'deaf';
    const over = Promise.withResolvers<void>();
    const timer = this.#clock.setTimeout(over.resolve, isDeaf ? Math.min(ms, DEAF_MS) : ms);
    const stop = (): void => over.reject(signal.reason);
    if (!isDeaf && signal.aborted) stop();
    else if (!isDeaf) signal.addEventListener('abort', stop, { once: true });
    try {
      await over.promise;
    } finally {
      signal.removeEventListener('abort', stop);
      timer.cancel();
    }
  }
}
