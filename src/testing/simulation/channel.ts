import type { AgentDefinition } from '../../supervisor-options.ts';
import type { ProcessClock } from './world-clock.ts';

type Channel = NonNullable<AgentDefinition['approvalChannel']>;
type Answer = Awaited<ReturnType<Channel['ask']>>;

/** A webhook takes so long to answer. */
const ANSWER_MS = 700;

/** What a webhook said, as the world heard it. */
export type OnAnswer = (decisionId: string, approved: boolean) => void;

/** A webhook that answers for people as the arguments of the call say. */
export function channelOf(clock: ProcessClock, onAnswer: OnAnswer): Channel {
  return {
    async ask({ decisionId, arguments: args }, { signal }) {
      const says: unknown = Reflect.get(Object(args), 'hook');
      await pass(clock, says === 'silent' ? Number.POSITIVE_INFINITY : ANSWER_MS, signal);
      const answer = answerOf(says);
      if (answer.kind === 'decided') onAnswer(decisionId, answer.decision.approved);
      return answer;
    },
    async withdraw({ decisionId }, { signal }) {
      await pass(clock, ANSWER_MS, signal).catch(() => {});
      return !signal.aborted && Number.parseInt(decisionId.slice(-1), 16) % 2 === 0;
    },
  };
}

function answerOf(says: unknown): Answer {
  if (says === 'busy' || says === 'broken') {
    return { kind: 'failed', message: 'The webhook answered 503.', retryable: says === 'busy' };
  }
  return { kind: 'decided', decision: { approved: says !== 'deny' }, toolHeaders: {} };
}

async function pass(clock: ProcessClock, ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const over = Promise.withResolvers<void>();
  const stop = (): void => over.reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const timer = clock.setTimeout(over.resolve, ms);
  try {
    await over.promise;
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', stop);
  }
}
