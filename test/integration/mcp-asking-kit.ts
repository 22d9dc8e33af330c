import type { Elicitation, ElicitationAnswer, ToolContext } from '../../src/tool.ts';
import { deferred } from '../../src/mcp/wait.ts';
import { callContext } from './mcp-kit.ts';

export interface PutQuestion {
  readonly question: Elicitation;
  readonly signal: AbortSignal;
  answer(answer: ElicitationAnswer): void;
}

export const accept = (reason: string): ElicitationAnswer => ({
  action: 'accept',
  content: { reason },
});

/** A call whose person answers when the test does. */
export function askedContext(more: Partial<ToolContext> = {}) {
  const call = callContext();
  const put: PutQuestion[] = [];
  const waiters = new Set<() => void>();
  const context: ToolContext = {
    ...call.context,
    elicit: (question, { signal = new AbortController().signal } = {}) => {
      const said = deferred<ElicitationAnswer>();
      signal.addEventListener('abort', () => said.reject(signal.reason), { once: true });
      put.push({ question, signal, answer: said.resolve });
      for (const look of [...waiters]) look();
      return said.promise;
    },
    ...more,
  };
  /** Resolves with the n-th question, counted from 1, when it is put. */
  const question = (n: number) =>
    new Promise<PutQuestion>((resolve) => {
      const look = () => {
        const found = put[n - 1];
        if (found === undefined) return;
        waiters.delete(look);
        resolve(found);
      };
      waiters.add(look);
      look();
    });
  return { ...call, context, put, question };
}
