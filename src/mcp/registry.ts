import type { ServerCatalogue } from '../../machines/mcp-server.vocabulary.ts';
import { connectClient, type McpClient } from './client.ts';
import type { McpDeps } from './deps.ts';
import { McpConnectionError } from './failures.ts';
import type { ConnectionTarget } from './link.ts';

interface Entry {
  readonly key: string;
  readonly target: ConnectionTarget;
  client: McpClient | undefined;
  /** Ends under way: of failed connects and of lost clients. */
  readonly ending: Set<Promise<void>>;
}

/**
 * Holds what the charts cannot: the targets with their secrets and the client objects, by connection
 * id. It decides nothing; the chart of a connection says when to connect and when to close.
 */
export class ConnectionRegistry {
  readonly #deps: McpDeps;
  readonly #entries = new Map<string, Entry>();
  /** The connection that new holders of a key get; the key holds secrets and stays in here. */
  readonly #currents = new Map<string, string>();
  #count = 0;

  constructor(deps: McpDeps) {
    this.#deps = deps;
  }

  /** How many connections are known, whatever their state. */
  get size(): number {
    return this.#entries.size;
  }

  /** Makes room for a new connection to a target and makes it the current one of its key. */
  add(target: ConnectionTarget): string {
    this.#count += 1;
    const id = `mcp:${target.config.name}:${this.#count}`;
    const key = keyOf(target);
    this.#entries.set(id, { key, target, client: undefined, ending: new Set() });
    this.#currents.set(key, id);
    return id;
  }

  /** The connection that was last opened to this server with these headers. */
  current(target: ConnectionTarget): string | undefined {
    return this.#currents.get(keyOf(target));
  }

  client(id: string): McpClient | undefined {
    return this.#entries.get(id)?.client;
  }

  /** Drops a connection whose chart has ended; a client that is still there is ended at once. */
  remove(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    if (this.#currents.get(entry.key) === id) this.#currents.delete(entry.key);
    entry.client?.kill();
  }

  /** Port `connectServer`. Rejects with {@link McpConnectionError}. */
  async connect(id: string, signal: AbortSignal): Promise<ServerCatalogue> {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new McpConnectionError('the connection is no longer known');
    const connecting = connectClient(entry.target, this.#deps, {
      signal,
      ending: (ended) => this.#track(entry, ended),
    });
    this.#track(entry, connecting.then(nothing, nothing));
    const client = await connecting;
    // Nobody but the chart may keep a client, and the chart may have moved on.
    if (signal.aborted || this.#entries.get(id) !== entry) {
      this.#track(entry, client.end());
      throw new McpConnectionError('the connection is no longer wanted');
    }
    entry.client = client;
    return { toolsCount: client.toolsCount };
  }

  /** Port `watchServer`. */
  watch(id: string, onLost: (reason: string) => void): () => void {
    const client = this.client(id);
    if (client === undefined) throw new Error(`No client for the connection "${id}".`);
    return client.onLost(onLost);
  }

  /** Port `closeServer`: settles when nothing of the connection is left. */
  async close(id: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(id);
    const client = entry?.client;
    if (entry === undefined) return;
    entry.client = undefined;
    if (client !== undefined) {
      const kill = () => client.kill();
      signal.addEventListener('abort', kill, { once: true });
      this.#track(
        entry,
        client.end().finally(() => signal.removeEventListener('abort', kill)),
      );
    }
    // A connect that was just told to stop adds its own end in a moment.
    while (entry.ending.size > 0) await Promise.allSettled(entry.ending);
  }

  /** Ends every process and socket now. For a process that exits without a drain. */
  killAll(): void {
    for (const id of this.#entries.keys()) this.remove(id);
  }

  #track(entry: Entry, ended: Promise<void>): void {
    entry.ending.add(ended);
    void ended.finally(() => entry.ending.delete(ended));
  }
}

const nothing = (): void => {};

/** Equal for equal servers and header sets, whatever the order of their keys. */
function keyOf({ config, headers }: ConnectionTarget): string {
  const sorted = (record: Readonly<Record<string, string>>) =>
    Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
  const identity =
    config.transport === 'stdio'
      ? [config.cmd, config.args, sorted(config.env)]
      : [config.url, sorted(headers)];
  return JSON.stringify([config.name, config.transport, identity]);
}
