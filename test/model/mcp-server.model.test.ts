import { describe, expect, it } from 'vitest';
import type { AnyStateNode } from 'xstate';
import { mcpServerMachine } from '../../machines/mcp-server.machine.ts';
import { limits, type Step, startServer } from './mcp-server-drive.ts';

/** The shortest way into each state where the chart can rest; `+` says that two hold it. */
const WAYS = {
  idle: [],
  'connecting.open': ['acquire'],
  'connecting.open+': ['acquire', 'acquire'],
  'connecting.leaving': ['acquire', 'acquire', 'connected', 'lose', 'backoffTime', 'evict'],
  'connecting.leaving+': ['acquire', 'acquire', 'acquire', 'evict'],
  'ready.held': ['acquire', 'connected'],
  'ready.held+': ['acquire', 'acquire', 'connected'],
  'ready.unused': ['acquire', 'connected', 'release'],
  'ready.leaving': ['acquire', 'acquire', 'connected', 'evict'],
  'ready.leaving+': ['acquire', 'acquire', 'acquire', 'connected', 'evict'],
  degraded: ['acquire', 'connected', 'lose'],
  'degraded+': ['acquire', 'acquire', 'connected', 'lose'],
  'failed.resting': ['acquire', 'refused', 'release'],
  'failed.resting held': ['acquire', 'refused'],
  'failed.retryable': ['acquire', 'refused', 'release', 'backoffTime'],
  'failed.retryable held': ['acquire', 'refused', 'backoffTime'],
  closing: ['acquire', 'connected', 'evict'],
} as const satisfies Record<string, readonly Step[]>;

type Place = keyof typeof WAYS;

/** From, step, to, and how many hold it afterwards. */
const EDGES: readonly [Place, Step, string, number][] = [
  ['idle', 'acquire', 'connecting.open', 1],
  ['idle', 'close', 'closed', 0],
  ['idle', 'release', 'idle', 0],

  ['connecting.open', 'acquire', 'connecting.open', 2],
  ['connecting.open', 'connected', 'ready.held', 1],
  ['connecting.open', 'refused', 'failed.resting', 1],
  ['connecting.open', 'connectTime', 'failed.resting', 1],
  ['connecting.open', 'release', 'closing', 0],
  ['connecting.open', 'evict', 'closing', 0],
  ['connecting.open', 'close', 'closing', 1],
  ['connecting.open+', 'release', 'connecting.open', 1],
  ['connecting.open+', 'evict', 'connecting.leaving', 1],
  ['connecting.leaving', 'acquire', 'connecting.leaving', 1],
  ['connecting.leaving', 'connected', 'ready.leaving', 1],
  ['connecting.leaving', 'refused', 'closing', 1],
  ['connecting.leaving', 'connectTime', 'closing', 1],
  ['connecting.leaving', 'release', 'closing', 0],
  ['connecting.leaving', 'close', 'closing', 1],
  ['connecting.leaving+', 'release', 'connecting.leaving', 1],
  ['connecting.leaving+', 'evict', 'connecting.leaving', 1],

  ['ready.held', 'acquire', 'ready.held', 2],
  ['ready.held', 'release', 'ready.unused', 0],
  ['ready.held', 'evict', 'closing', 0],
  ['ready.held', 'lose', 'degraded', 1],
  ['ready.held', 'close', 'closing', 1],
  ['ready.held', 'idleTime', 'ready.held', 1],
  ['ready.held', 'steadyTime', 'ready.held', 1],
  ['ready.unused', 'steadyTime', 'ready.unused', 0],
  ['ready.leaving', 'steadyTime', 'ready.leaving', 1],
  ['ready.held+', 'release', 'ready.held', 1],
  ['ready.held+', 'evict', 'ready.leaving', 1],
  ['ready.unused', 'acquire', 'ready.held', 1],
  ['ready.unused', 'idleTime', 'closing', 0],
  ['ready.unused', 'lose', 'closing', 0],
  ['ready.unused', 'close', 'closing', 0],
  ['ready.leaving', 'acquire', 'ready.leaving', 1],
  ['ready.leaving', 'release', 'closing', 0],
  ['ready.leaving', 'evict', 'closing', 0],
  ['ready.leaving', 'lose', 'degraded', 1],
  ['ready.leaving', 'close', 'closing', 1],
  ['ready.leaving+', 'release', 'ready.leaving', 1],

  ['degraded', 'acquire', 'degraded', 1],
  ['degraded', 'backoffTime', 'connecting.open', 1],
  ['degraded', 'closed', 'degraded', 1],
  ['degraded', 'closeFails', 'degraded', 1],
  ['degraded', 'release', 'closing', 0],
  ['degraded', 'evict', 'closing', 0],
  ['degraded', 'close', 'closing', 1],
  ['degraded+', 'release', 'degraded', 1],
  ['degraded+', 'evict', 'degraded', 1],

  ['failed.resting', 'acquire', 'failed.resting', 0],
  ['failed.resting', 'backoffTime', 'failed.retryable', 0],
  ['failed.resting', 'close', 'closing', 0],
  ['failed.resting held', 'release', 'failed.resting', 0],
  ['failed.resting held', 'evict', 'closing', 0],
  ['failed.retryable', 'acquire', 'connecting.open', 1],
  ['failed.retryable', 'idleTime', 'closing', 0],
  ['failed.retryable', 'close', 'closing', 0],
  ['failed.retryable held', 'idleTime', 'failed.retryable', 1],
  ['failed.retryable held', 'release', 'failed.retryable', 0],
  ['failed.retryable held', 'evict', 'closing', 0],

  ['closing', 'acquire', 'closing', 0],
  ['closing', 'closed', 'closed', 0],
  ['closing', 'closeFails', 'closed', 0],
  ['closing', 'closeTime', 'closed', 0],
];

describe('mcp server chart: every edge on the running actor', () => {
  it.each(EDGES)('%s on %s goes to %s, held by %i', async (from, step, to, held) => {
    const server = startServer();
    await server.apply(...WAYS[from]);
    expect(server.where()).toBe(from.replace(/\+| held$/, ''));
    await server.apply(step);

    expect(server.where()).toBe(to);
    expect(server.actor.getSnapshot().context.held).toBe(held);
  });

  it('leaves no event of a state untried', () => {
    const tried = EDGES.map(([from, step]) => `${from.replace(/\+| held$/, '')} ${EVENTS[step]}`);
    // That the port which watches throws has a test of its own below.
    const declared = declaredEvents(mcpServerMachine.root).filter(
      (edge) => !edge.includes('watchServer'),
    );
    expect(declared.filter((edge) => !tried.includes(edge))).toEqual([]);
    expect(declared.length).toBeGreaterThan(30);
  });
});

/** What each step looks like to the chart. */
const EVENTS: Readonly<Record<Step, string>> = {
  acquire: 'mcp.acquire',
  release: 'mcp.release',
  evict: 'mcp.release',
  close: 'mcp.close',
  lose: 'mcp.lost',
  connected: 'done connectServer',
  refused: 'error connectServer',
  broken: 'error connectServer',
  closed: 'done close',
  closeFails: 'error close',
  connectTime: 'after connect',
  closeTime: 'after close',
  idleTime: 'after idle',
  steadyTime: 'after steady',
  backoffTime: 'after backoff',
};

/** `state event` for every state where the chart can rest, with what its ancestors declare. */
function declaredEvents(node: AnyStateNode, inherited: readonly string[] = []): string[] {
  const events = [...inherited, ...[...node.transitions.keys()].map(nameOf)];
  const children: AnyStateNode[] = Object.values(node.states);
  if (children.length > 0) return children.flatMap((child) => declaredEvents(child, events));
  if (node.type === 'final' || (node.always?.length ?? 0) > 0) return [];
  return events.map((event) => `${node.path.join('.')} ${event}`);
}

const nameOf = (event: string): string =>
  event
    .replace(/^xstate\.after\.(\w+)\..*$/, 'after $1')
    .replace(/^xstate\.(done|error)\.actor\.(?:closeServer|discardServer)$/, '$1 close')
    .replace(/^xstate\.(done|error)\.actor\.(\w+)$/, '$1 $2');

describe('mcp server chart: what it promises', () => {
  it('tells its life in facts, in order', async () => {
    const server = startServer();
    await server.apply('acquire', 'connected', 'lose', 'backoffTime', 'refused', 'evict', 'closed');
    const of = { connectionId: 'c1', serverName: 'web' };

    expect(server.facts).toEqual([
      { type: 'mcp.connecting', ...of, attempt: 1 },
      { type: 'mcp.connected', ...of, toolsCount: 7 },
      { type: 'mcp.degraded', ...of, reason: 'it died' },
      { type: 'mcp.connecting', ...of, attempt: 2 },
      { type: 'mcp.failed', ...of, reason: 'it refused', retryAfterMs: 2_000 },
      { type: 'mcp.closed', ...of },
    ]);
    expect(server.actor.getSnapshot().output).toEqual(of);
  });

  it('aborts the connect that it no longer waits for (MS1)', async () => {
    const server = startServer();
    await server.apply('acquire', 'connectTime');

    expect(server.connects).toHaveLength(1);
    expect(server.connects[0]?.signal.aborted).toBe(true);
    expect(server.actor.getSnapshot().context.reason).toBe('did not connect within 10 s');
  });

  it('shows only reasons that an adapter has mapped (MS8)', async () => {
    const server = startServer();
    await server.apply('acquire', 'broken');

    expect(JSON.stringify(server.actor.getSnapshot().context)).not.toContain('secret');
    expect(JSON.stringify(server.facts)).not.toContain('secret');
  });

  it('rests longer after each failure, up to the cap (MS5)', async () => {
    const server = startServer();
    for (let failures = 0; failures < 6; failures += 1) {
      await server.apply('acquire', 'refused', 'release', 'backoffTime');
    }
    const rests = server.facts.flatMap((fact) =>
      fact.type === 'mcp.failed' ? fact.retryAfterMs : [],
    );
    expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
  });

  it('rebuilds a connection that keeps dying a bounded number of times (MS6)', async () => {
    const server = startServer();
    await server.apply('acquire');
    for (let round = 0; round < 5; round += 1)
      await server.apply('connected', 'lose', 'backoffTime');

    expect(server.where()).toBe('failed.retryable');
    expect(server.connects).toHaveLength(limits.failuresMax);
  });

  it('forgets its failures once it has been steady', async () => {
    const server = startServer();
    await server.apply('acquire', 'connected', 'lose', 'backoffTime', 'connected');
    expect(server.actor.getSnapshot().context.failures).toBe(1);
    await server.apply('steadyTime');
    expect(server.actor.getSnapshot().context.failures).toBe(0);
  });

  it('stays evicted through a loss and a new connect (MS3)', async () => {
    const server = startServer();
    await server.apply('acquire', 'acquire', 'connected', 'evict', 'lose', 'backoffTime');
    expect(server.where()).toBe('connecting.leaving');
    await server.apply('connected');
    expect(server.where()).toBe('ready.leaving');
    expect(server.actor.getSnapshot().hasTag('accepting')).toBe(false);
  });

  it('closes instead of failing when it tires while evicted (MS3)', async () => {
    const server = startServer();
    await server.apply('acquire', 'acquire', 'connected', 'evict');
    for (let round = 0; round < 3; round += 1)
      await server.apply('lose', 'backoffTime', 'connected');
    expect(server.where()).toBe('closing');
  });

  it('counts the idle time of a failed connection from the last release', async () => {
    const server = startServer();
    await server.apply('acquire', 'refused', 'backoffTime', 'idleTime', 'release');
    server.clock.increment(limits.idleMs - 1);
    expect(server.where()).toBe('failed.retryable');
    server.clock.increment(1);
    expect(server.where()).toBe('closing');
  });

  it('counts as lost when it cannot be watched', async () => {
    const server = startServer({ watchThrows: true });
    await server.apply('acquire', 'connected');
    expect(server.where()).toBe('degraded');
    expect(server.actor.getSnapshot().context.reason).toBe('the connection cannot be watched');
  });

  it('watches exactly while it is ready', async () => {
    const server = startServer();
    await server.apply('acquire', 'connected', 'release');
    expect(server.watching.count).toBe(1);
    await server.apply('idleTime');
    expect(server.watching.count).toBe(0);
  });

  it('hands the dead client to the close port before it connects again', async () => {
    const server = startServer();
    await server.apply('acquire', 'connected', 'lose');
    expect(server.closes.map(({ input }) => input)).toEqual([{ connectionId: 'c1' }]);
  });

  it('keeps its context as JSON (MS8)', async () => {
    const server = startServer();
    await server.apply('acquire', 'connected');
    const { context } = server.actor.getSnapshot();
    expect(JSON.parse(JSON.stringify({ ...context, reason: null }))).toEqual({
      ...context,
      reason: null,
    });
  });
});
