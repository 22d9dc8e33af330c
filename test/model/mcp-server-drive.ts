import { createActor, fromCallback, fromPromise, SimulatedClock } from 'xstate';
import { mcpServerMachine } from '../../machines/mcp-server.machine.ts';
import type {
  ConnectionRef,
  ConnectServerInput,
  McpServerEmitted,
  McpServerEvent,
  McpServerLimits,
  ServerCatalogue,
} from '../../machines/mcp-server.vocabulary.ts';

export const limits: McpServerLimits = {
  connectMs: 10_000,
  closeMs: 5_000,
  idleMs: 60_000,
  backoffMsFirst: 1_000,
  backoffMsMax: 8_000,
  steadyMs: 30_000,
  failuresMax: 3,
};

interface PortCall<T> {
  readonly signal: AbortSignal;
  readonly input: unknown;
  resolve(value: T): void;
  reject(reason: unknown): void;
  settled: boolean;
}

/** The real chart under a virtual clock; the test decides how each port call ends. */
export function startServer({ watchThrows = false } = {}) {
  const clock = new SimulatedClock();
  const connects: PortCall<ServerCatalogue>[] = [];
  const closes: PortCall<void>[] = [];
  const watching = { count: 0, lose: (_reason: string): void => {} };
  const record = <T>(calls: PortCall<T>[], input: unknown, signal: AbortSignal) =>
    new Promise<T>((resolve, reject) => {
      const call: PortCall<T> = {
        signal,
        input,
        settled: false,
        resolve: (value) => {
          call.settled = true;
          resolve(value);
        },
        reject: (reason) => {
          call.settled = true;
          reject(reason);
        },
      };
      calls.push(call);
    });
  const machine = mcpServerMachine.provide({
    actors: {
      connectServer: fromPromise<ServerCatalogue, ConnectServerInput>(({ input, signal }) =>
        record(connects, input, signal),
      ),
      closeServer: fromPromise<void, ConnectionRef>(({ input, signal }) =>
        record(closes, input, signal),
      ),
      watchServer: fromCallback<McpServerEvent, ConnectionRef>(({ sendBack }) => {
        if (watchThrows) throw new Error('no watch');
        watching.count += 1;
        watching.lose = (reason) => sendBack({ type: 'mcp.lost', reason });
        return () => {
          watching.count -= 1;
        };
      }),
    },
  });
  const facts: McpServerEmitted[] = [];
  const actor = createActor(machine, {
    clock,
    input: { connectionId: 'c1', serverName: 'web', limits },
  });
  actor.on('*', (fact) => void facts.push(fact));
  actor.start();

  /** Steps that a history is made of; each lets the chart settle. */
  const steps = {
    acquire: () => actor.send({ type: 'mcp.acquire', holder: 'h' }),
    release: () => actor.send({ type: 'mcp.release', holder: 'h', evict: false }),
    evict: () => actor.send({ type: 'mcp.release', holder: 'h', evict: true }),
    close: () => actor.send({ type: 'mcp.close' }),
    lose: () => watching.lose('it died'),
    connected: () => connects.at(-1)?.resolve({ toolsCount: 7 }),
    refused: () => connects.at(-1)?.reject({ reason: 'it refused' }),
    broken: () => connects.at(-1)?.reject(new Error('Bearer very-secret')),
    closed: () => closes.at(-1)?.resolve(),
    closeFails: () => closes.at(-1)?.reject(new Error('no')),
    connectTime: () => clock.increment(limits.connectMs),
    closeTime: () => clock.increment(limits.closeMs),
    idleTime: () => clock.increment(limits.idleMs),
    steadyTime: () => clock.increment(limits.steadyMs),
    backoffTime: () => clock.increment(limits.backoffMsMax),
  };
  const apply = async (...names: readonly (keyof typeof steps)[]) => {
    for (const name of names) {
      steps[name]();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const where = () => {
    const { value } = actor.getSnapshot();
    return typeof value === 'string' ? value : Object.entries(value).flat().join('.');
  };
  return { actor, clock, connects, closes, watching, facts, steps, apply, where };
}

export type Step = keyof ReturnType<typeof startServer>['steps'];
