import type { AgentSummary, StartRun } from '../../handle.ts';
import { badRequest } from '../errors.ts';
import type { ChatBody } from './chat-request.ts';

/** What providers take for the name of a tool. One name that is wrong fails the whole request. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The caller's tools for a run of `agent`: none when it does not allow them, because then nobody
 * reads their definitions.
 *
 * @throws {HttpError} 400 for a name that no provider takes or that two of them have.
 */
export function clientToolsOf(
  { tools = [] }: ChatBody,
  agent: AgentSummary,
): Pick<StartRun, 'clientTools'> {
  if (tools.length === 0 || !agent.allowsClientTools) return {};
  checkNames(tools.map((tool) => tool.function.name));
  const specs = tools.map(({ function: { name, description, parameters } }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
  }));
  return { clientTools: specs };
}

function checkNames(names: readonly string[]): void {
  const places = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    const refuse = (fault: string) => {
      const param = `tools[${index}].function.name`;
      return badRequest(`\`${param}\` ${fault}.`, param);
    };
    if (!TOOL_NAME.test(name)) throw refuse('must be 1 to 64 of A-Z, a-z, 0-9, "_" and "-"');
    const before = places.get(name);
    if (before !== undefined)
      throw refuse(`is also the name of \`tools[${before}]\`; choose another`);
    places.set(name, index);
  }
}
