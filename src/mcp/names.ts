/** The longest function name that OpenAI-compatible models accept. */
export const TOOL_NAME_CHARS_MAX = 64;

/** A name that every model accepts: letters, digits, `_` and `-`, at most 64. */
export function sanitizeToolName(name: string): string {
  const cleaned = trimUnderscores(name.replace(/[^A-Za-z0-9_-]/g, '_'));
  const prefixed = cleaned === '' || /^\d/.test(cleaned) ? `tool_${cleaned}` : cleaned;
  return prefixed.slice(0, TOOL_NAME_CHARS_MAX);
}

const trimUnderscores = (name: string): string => name.replace(/^_+|_+$/g, '');

export interface NamedTool {
  readonly serverName: string;
  /** As the server calls it. */
  readonly original: string;
  /** As {@link sanitizeToolName} gave it; not yet unique. */
  readonly name: string;
}

/**
 * Gives each tool its own name, in the order given: the first of a kind keeps it, a later one gets
 * its server's name, and a number where that does not tell them apart. `onCollision` hears of each.
 */
export function assignUniqueNames(
  tools: readonly NamedTool[],
  onCollision: (tool: NamedTool, unique: string) => void,
): readonly string[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    const unique = uniqueName(tool, taken);
    if (unique !== tool.name) onCollision(tool, unique);
    taken.add(unique);
    return unique;
  });
}

function uniqueName(tool: NamedTool, taken: ReadonlySet<string>): string {
  if (!taken.has(tool.name)) return tool.name;
  const byServer = withSuffix(tool.name, sanitizeToolName(tool.serverName));
  if (!taken.has(byServer)) return byServer;
  let number = 2;
  while (taken.has(withSuffix(byServer, String(number)))) number += 1;
  return withSuffix(byServer, String(number));
}

/** Shortens the name, not the suffix: the suffix is what tells two of them apart. */
function withSuffix(name: string, suffix: string): string {
  const tail = `_${suffix}`.slice(0, TOOL_NAME_CHARS_MAX - 1);
  return `${name.slice(0, TOOL_NAME_CHARS_MAX - tail.length)}${tail}`;
}
