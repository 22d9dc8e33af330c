import type { Tool, ToolContext, ToolResult } from '../../src/tool.ts';

/** One execution, ended by the test; it obeys its signal unless it is deaf. */
export class ManualExecution {
  readonly name: string;
  readonly args: Record<string, unknown>;
  readonly context: ToolContext;
  readonly result = Promise.withResolvers<ToolResult>();

  constructor(
    name: string,
    args: Record<string, unknown>,
    context: ToolContext,
    isDeaf: () => boolean,
  ) {
    this.name = name;
    this.args = args;
    this.context = context;
    const { signal } = context;
    signal.addEventListener('abort', () => {
      if (!isDeaf()) this.result.reject(signal.reason);
    });
    this.result.promise.catch(() => {});
  }

  answer(text: string): void {
    this.result.resolve({ text, isError: false });
  }

  fail(text: string): void {
    this.result.resolve({ text: `Tool returned an error: ${text}`, isError: true });
  }
}

/** Tools whose executions the test ends. */
export class ManualTools {
  readonly executions: ManualExecution[] = [];
  /** Those that do not listen to a stop that comes while they are among these. */
  readonly deaf = new Set<string>();

  tool(name: string): Tool {
    return {
      spec: { name, parameters: { type: 'object' } },
      execute: (args, context) => {
        const execution = new ManualExecution(name, args, context, () => this.deaf.has(name));
        this.executions.push(execution);
        return execution.result.promise;
      },
    };
  }

  /** The newest execution of a tool. */
  last(name: string): ManualExecution {
    const found = this.executions.findLast((execution) => execution.name === name);
    if (found === undefined) throw new Error(`the tool ${name} has not been executed yet`);
    return found;
  }
}
