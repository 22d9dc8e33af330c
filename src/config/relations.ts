import { oddApprovals } from './approval-relations.ts';
import type { PlacedAgent } from './build.ts';
import type { Config } from './config.ts';
import { formatPath, type ConfigIssue, type KeyPath } from './issue.ts';

/** What is allowed and hardly meant: limits that cannot be reached, filters that cannot match. */
export function oddities(config: Config, placed: readonly PlacedAgent[]): readonly ConfigIssue[] {
  return [
    ...unreachable(config),
    ...openToOthers(config),
    ...forgetful(config),
    ...oddSizes(config),
    ...placed.flatMap((one) => [...oddApprovals(one, config), ...oddFilters(one)]),
  ];
}

interface Bound {
  readonly name: string;
  readonly ms: number;
}

/** An inner limit that an outer one always ends first. 0 is off for the limits given here. */
function unreachable({ timeouts, tools }: Config): ConfigIssue[] {
  const total = { name: 'total', ms: timeouts.totalMs };
  const step = { name: 'step', ms: timeouts.stepMs };
  return [
    ...outlives(
      { name: 'mcp_connect', ms: timeouts.mcpConnectMs },
      { name: 'setup', ms: timeouts.setupMs },
    ),
    ...outlives({ name: 'first-chunk', ms: timeouts.firstChunkMs }, total),
    ...outlives(step, total),
    ...outlives({ name: 'tool', ms: timeouts.toolMs }, step),
    ...tools.flatMap(({ glob, timeoutMs = 0 }) =>
      outlives({ name: `"${glob}"`, ms: timeoutMs }, step),
    ),
  ];
}

function outlives(inner: Bound, outer: Bound): ConfigIssue[] {
  if (outer.ms === 0 || inner.ms <= outer.ms) return [];
  return [
    {
      source: 'timeouts',
      key: `${inner.name} (${inner.ms / 1_000} s)`,
      problem: `is never reached: ${outer.name} (${outer.ms / 1_000} s) ends first`,
      suggestion: `Raise ${outer.name} as well.`,
    },
  ];
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1|\[::1\])$/i;

function openToOthers({ server, auth }: Config): ConfigIssue[] {
  if (auth !== undefined || LOOPBACK.test(server.host)) return [];
  return [
    {
      source: 'server',
      key: `host ${server.host}`,
      problem:
        'is reachable from other machines, and whoever reaches it can start and stop runs, read ' +
        'every conversation and decide approvals',
      suggestion: 'Add [auth] with keys, or put a proxy that authenticates in front of it.',
    },
  ];
}

/** What is to happen after a restart needs a journal that is still there. */
function forgetful({ journal, crash, park }: Config): ConfigIssue[] {
  if (journal.store !== 'memory') return [];
  const idle = [
    ...(crash.recover === 'resume' ? ['crash.recover = "resume"'] : []),
    ...(park.resumeOnStart ? ['park.resume_on_start'] : []),
  ];
  return idle.map((key) => ({
    source: 'runtime',
    key,
    problem: 'has no effect: a journal in memory is gone with its process',
    suggestion: 'Use journal.store = "sqlite".',
  }));
}

function oddSizes({ journal: { sessionBytesMax, totalBytesMax } }: Config): ConfigIssue[] {
  if (totalBytesMax === 0 || sessionBytesMax <= totalBytesMax) return [];
  return [
    {
      source: 'runtime',
      key: 'journal.session_max_bytes',
      problem: `is never reached: journal.total_max_bytes (${totalBytesMax}) is smaller`,
      suggestion: 'Lower it or raise the total.',
    },
  ];
}

/** In these two lists only `*` and `?` are special, and no tool name has the other signs. */
function oddFilters({ agent, document }: PlacedAgent): ConfigIssue[] {
  const filters = { mcp_filter: agent.mcpFilter, client_tool_filter: agent.clientToolFilter };
  return Object.entries(filters).flatMap(([key, patterns = []]) =>
    patterns.flatMap((pattern, index) =>
      /^[\w*?-]+$/.test(pattern)
        ? []
        : [
            at(
              document,
              ['agent', key, index],
              'matches no tool',
              'Only * and ? are special here.',
            ),
          ],
    ),
  );
}

function at(
  { file, lineOf }: PlacedAgent['document'],
  path: KeyPath,
  problem: string,
  suggestion: string,
): ConfigIssue {
  const line = lineOf(path);
  return {
    source: file,
    ...(line === undefined ? {} : { line }),
    key: formatPath(path),
    problem,
    suggestion,
  };
}
