import type { ModelProvider, ModelRequest } from '../../model.ts';
import {
  createScriptedProvider,
  type ScriptStep,
  type ScriptTurn,
} from '../../providers/scripted.ts';
import type { Clock } from '../../clock.ts';
import type { ModelPlay, ModelScript, ToolAsked } from './steps.ts';

/** What a run is asked, by the number of its script. */
export const promptOf = (script: number): string => `Question ${script}`;

const DONE: ModelPlay = {
  silenceMs: 0,
  deltas: 1,
  pauseMs: 0,
  chars: 5,
  ending: { end: 'stop' },
};

/** The models of a world: what each script has done so far outlives the processes that ask. */
export class SimModels {
  readonly #scripts: ModelScript[] = [];
  readonly #asked = new Map<number, number>();
  /** Every request that was made, to be looked at when all is over. */
  readonly requests: ModelRequest[] = [];

  /** The number of the script. */
  add(script: ModelScript): number {
    return this.#scripts.push(script) - 1;
  }

  provider(clock: Clock): ModelProvider {
    return createScriptedProvider({
      clock,
      script: (request) => this.#turn(request),
    });
  }

  #turn(request: ModelRequest): ScriptTurn {
    this.requests.push(request);
    const prompt = request.messages.findLast(({ role }) => role === 'user')?.content ?? '';
    const script = Number(/^Question (\d+)$/.exec(prompt)?.[1] ?? -1);
    const at = this.#asked.get(script) ?? 0;
    this.#asked.set(script, at + 1);
    return turnOf(this.#scripts[script]?.[at] ?? DONE, `${script}-${at}`);
  }
}

function turnOf(play: ModelPlay, name: string): ScriptTurn {
  const { silenceMs, deltas, pauseMs, chars } = play;
  const text = Array.from(
    { length: deltas },
    (_, at): ScriptStep => ({
      do: 'text',
      text: textOf(`${name}.${at} `, chars),
      afterMs: at && pauseMs,
    }),
  );
  const [first, ...rest] = [...text, ...endOf(play, name)];
  return first === undefined ? [] : [{ ...first, afterMs: silenceMs }, ...rest];
}

const textOf = (word: string, chars: number): string =>
  word.repeat(Math.ceil(chars / word.length)).slice(0, chars);

function endOf({ ending }: ModelPlay, name: string): readonly ScriptStep[] {
  switch (ending.end) {
    case 'tools':
      return [
        ...ending.tools.map(
          (asked, at): ScriptStep => ({ do: 'toolCall', call: callOf(asked, `${name}-${at}`) }),
        ),
        USAGE,
        { do: 'finish', reason: 'tool_calls' },
      ];
    case 'stall':
      return [{ do: 'stall' }];
    case 'cut':
      return [{ do: 'cut' }];
    case 'error': {
      const { code, retryable } = ending;
      return [{ do: 'error', failure: { code, retryable, message: 'The model fails.' } }];
    }
    default:
      return [USAGE, { do: 'finish', reason: ending.end }];
  }
}

const USAGE: ScriptStep = {
  do: 'usage',
  usage: { promptTokens: 10, completionTokens: 2, totalTokens: 12 },
};

const callOf = ({ tool, ...play }: ToolAsked, id: string) => ({
  id,
  name: tool,
  argumentsText: JSON.stringify(play),
});
