import type { PlacedAgent } from './build.ts';
import type { ConfigDocument } from './document.ts';
import type { ConfigIssue, KeyPath } from './issue.ts';
import { formatPath } from './issue.ts';
import { nearest } from '../nearest.ts';

/** Tables that say something about an agent, so a file that has one needs an `[agent]`. */
const AGENT_TABLES = ['mcp', 'hitl', 'tools', 'orchestration'] as const;

/** In a directory, a file may hold `[runtime]` and `[auth]` alone. */
export function missingAgents(documents: readonly ConfigDocument[]): readonly ConfigIssue[] {
  const read = documents.filter(({ toml }) => toml !== undefined);
  const anyAgent = documents.some(({ toml }) => toml === undefined || toml.agent !== undefined);
  return read
    .filter(({ toml }) => toml?.agent === undefined)
    .filter(({ toml }) => !anyAgent || AGENT_TABLES.some((name) => toml?.[name] !== undefined))
    .map(({ file }) => ({
      source: file,
      key: 'agent',
      problem: 'is missing',
      suggestion: 'Add [agent] with name and system_prompt, and [agent.llm] with provider.',
    }));
}

/** An id is the alias, else the name, and is what clients send as `model`. */
export function duplicateIds(placed: readonly PlacedAgent[]): readonly ConfigIssue[] {
  const first = new Map<string, PlacedAgent>();
  return placed.flatMap((current) => {
    const other = first.get(current.agent.id);
    if (other === undefined) {
      first.set(current.agent.id, current);
      return [];
    }
    return [duplicate(current, other)];
  });
}

function duplicate(current: PlacedAgent, other: PlacedAgent): ConfigIssue {
  const path = idPath(current);
  const line = current.document.lineOf(path);
  const where = `${other.document.file}:${other.document.lineOf(idPath(other)) ?? 1}`;
  const byAlias = current.agent.alias !== undefined;
  return {
    source: current.document.file,
    ...(line === undefined ? {} : { line }),
    key: formatPath(path),
    problem: `is the duplicate ${byAlias ? 'alias' : 'name'} "${current.agent.id}", taken in ${where}`,
    suggestion: byAlias ? 'Choose another alias.' : 'Choose another name or add an alias.',
  };
}

const idPath = ({ agent }: PlacedAgent): KeyPath => [
  'agent',
  agent.alias === undefined ? 'name' : 'alias',
];

/** The default agent must be one of those that were loaded. */
export function unknownDefault(
  wanted: string | undefined,
  place: { readonly source: string; readonly key: string },
  placed: readonly PlacedAgent[],
): readonly ConfigIssue[] {
  const ids = placed.map(({ agent }) => agent.id);
  if (wanted === undefined || ids.includes(wanted)) return [];
  const close = nearest(wanted, ids);
  const known = `Loaded: ${ids.map((id) => `"${id}"`).join(', ')}.`;
  const problem = `names "${wanted}", which is neither the alias nor the name of a loaded agent`;
  const suggestion = close === undefined ? known : `Did you mean "${close}"? ${known}`;
  return [{ ...place, problem, suggestion }];
}
