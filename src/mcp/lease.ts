import type { ActorRefFrom } from 'xstate';
import type { mcpServerMachine } from '../../machines/mcp-server.machine.ts';
import { McpConnectionError } from './failures.ts';
import type { McpLimits } from './limits.ts';
import type { ConnectionTarget } from './link.ts';
import type { McpConnections } from './ports.ts';
import type { ConnectionRegistry } from './registry.ts';
import { deferred } from './wait.ts';

type Connection = ActorRefFrom<typeof mcpServerMachine>;
type ConnectionSnapshot = ReturnType<Connection['getSnapshot']>;

export interface LeaseDeps {
  readonly connections: McpConnections;
  readonly registry: ConnectionRegistry;
  readonly limits: McpLimits;
}

/** One count on one connection. */
export interface ConnectionLease {
  readonly connectionId: string;
  /** Resolves when calls can be made; rejects with {@link McpConnectionError} when they cannot. */
  ready(): Promise<void>;
  /** Gives the count back, once however often it is called. Settles when an eviction is through. */
  release(how: { readonly evict: boolean }): Promise<void>;
}

/**
 * Counts on the current connection of the target, or on a fresh one where there is none that lets
 * anybody in. Throws {@link McpConnectionError} while a failed server rests.
 *
 * Must not run inside a transition of the pool: it reads what its own messages have done.
 */
export function leaseConnection(
  target: ConnectionTarget,
  holder: string,
  deps: LeaseDeps,
): ConnectionLease {
  const known = deps.registry.current(target);
  const live = known === undefined ? undefined : find(known, deps);
  if (known !== undefined && live !== undefined) {
    const snapshot = live.getSnapshot();
    if (snapshot.status === 'active' && snapshot.hasTag('accepting')) {
      live.send({ type: 'mcp.acquire', holder });
      return new CountedLease(known, holder, live);
    }
    if (snapshot.hasTag('failed')) throw new McpConnectionError(restingReason(snapshot));
  }
  const id = deps.registry.add(target);
  return new CountedLease(id, holder, open(id, { target, holder, deps }));
}

/** The live connection of an id. */
function find(id: string, { connections }: LeaseDeps): Connection | undefined {
  return connections.getSnapshot().actors.get(id);
}

function open(
  id: string,
  { target, holder, deps }: { target: ConnectionTarget; holder: string; deps: LeaseDeps },
): Connection {
  deps.connections.send({
    type: 'pool.spawn',
    id,
    input: { connectionId: id, serverName: target.config.name, limits: deps.limits },
    begin: { type: 'mcp.acquire', holder },
  });
  const actor = find(id, deps);
  if (actor === undefined) {
    deps.registry.remove(id);
    throw new McpConnectionError('the pool of connections is closed');
  }
  const remove = () => deps.registry.remove(id);
  actor.subscribe({ complete: remove, error: remove });
  return actor;
}

const restingReason = (snapshot: ConnectionSnapshot): string =>
  `${snapshot.context.reason ?? 'the last attempt failed'}; the next attempt waits for a while`;

class CountedLease implements ConnectionLease {
  readonly connectionId: string;
  readonly #holder: string;
  readonly #actor: Connection;
  #released = false;

  constructor(connectionId: string, holder: string, actor: Connection) {
    this.connectionId = connectionId;
    this.#holder = holder;
    this.#actor = actor;
  }

  ready(): Promise<void> {
    return until(this.#actor, (snapshot) => {
      if (snapshot.hasTag('ready')) return true;
      if (snapshot.hasTag('failed') || snapshot.hasTag('closing')) {
        throw new McpConnectionError(snapshot.context.reason ?? 'the connection closed');
      }
      return false;
    });
  }

  async release({ evict }: { readonly evict: boolean }): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    if (this.#actor.getSnapshot().status !== 'active') return;
    this.#actor.send({ type: 'mcp.release', holder: this.#holder, evict });
    if (!this.#actor.getSnapshot().hasTag('closing')) return;
    await until(this.#actor, () => false).catch(() => {});
  }
}

/**
 * Resolves when a snapshot satisfies `isReached`, and rejects with what it throws or, when the actor
 * ends first, with {@link McpConnectionError}.
 */
async function until(
  actor: Connection,
  isReached: (snapshot: ConnectionSnapshot) => boolean,
): Promise<void> {
  const reached = deferred<void>();
  const look = (snapshot: ConnectionSnapshot) => {
    try {
      if (snapshot.status !== 'active') throw new McpConnectionError('the connection closed');
      if (isReached(snapshot)) reached.resolve();
    } catch (error) {
      reached.reject(error);
    }
  };
  const ended = () => reached.reject(new McpConnectionError('the connection closed'));
  const subscription = actor.subscribe({ next: look, error: ended, complete: ended });
  look(actor.getSnapshot());
  try {
    await reached.promise;
  } finally {
    subscription.unsubscribe();
  }
}
