import type Koa from 'koa';
import type { ToolSpec } from '../../tool.ts';
import type { AgentSummary, AgentTools, McpServerSummary } from '../../handle.ts';
import { handleOf } from '../caller.ts';
import type { HttpDeps } from '../deps.ts';
import { badRequest } from '../errors.ts';
import { echoable, requestHeaders } from '../params.ts';

/** An agent whose servers have not answered by then is shown without their tools. */
const TOOLS_MS = 30_000;

type Detail = 'none' | 'summary' | 'full';

/** `GET /aura/info`: the agents and their MCP servers; `?detail=` adds the servers' tools. */
export function auraInfo(deps: HttpDeps): Koa.Middleware {
  return async (ctx) => {
    const detail = parseDetail(ctx.query['detail']);
    const { agents, defaultAgent } = handleOf(ctx, deps);
    const visible = agents.filter((agent) => !agent.hidden);
    const shown = visible.map(async (agent) => {
      const tools = detail === 'none' ? {} : await toolsOf(agent, ctx, deps);
      return agentInfo(agent, tools, detail);
    });
    ctx.body = {
      ...(defaultAgent === undefined ? {} : { default_agent: defaultAgent }),
      agents: await Promise.all(shown),
    };
  };
}

/** Names are separated by commas; the whole tools outrank their summary. */
function parseDetail(query: string | string[] | undefined): Detail {
  let detail: Detail = 'none';
  for (const part of [query ?? []].flat().join(',').split(',')) {
    const name = part.trim();
    if (name === 'tools') detail = 'full';
    else if (name === 'tools:summary') detail = detail === 'full' ? 'full' : 'summary';
    else if (name !== '') {
      const unknown = echoable('detail', name);
      const message = `unknown detail '${unknown}'; expected 'tools' or 'tools:summary'`;
      throw badRequest(message, 'detail');
    }
  }
  return detail;
}

/** Whatever goes wrong with one agent's servers, the others are still worth showing. */
async function toolsOf(agent: AgentSummary, ctx: Koa.Context, deps: HttpDeps): Promise<AgentTools> {
  const { clock, log } = deps;
  const handle = handleOf(ctx, deps);
  const stop = new AbortController();
  const abort = () => stop.abort(new Error('Tools were not listed in time.'));
  const timer = clock.setTimeout(abort, TOOLS_MS);
  ctx.res.once('close', abort);
  try {
    return await Promise.race([
      handle.tools(agent.id, requestHeaders(ctx), stop.signal),
      rejectedOn(stop.signal),
    ]);
  } catch {
    log.debug({ agent: agent.id }, 'The tools of an agent could not be listed.');
    return {};
  } finally {
    clock.clearTimeout(timer);
    ctx.res.off('close', abort);
  }
}

/** The ceiling holds for servers that ignore the signal too. */
function rejectedOn(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function agentInfo(agent: AgentSummary, tools: AgentTools, detail: Detail): object {
  const { id, description, model, mcpServers } = agent;
  const servers = mcpServers.map((server) => [
    server.name,
    { ...overview(server), ...shownTools(tools[server.name], detail) },
  ]);
  return {
    id,
    ...(description === undefined ? {} : { description }),
    model,
    mcp_servers: Object.fromEntries(servers),
  };
}

function overview(server: McpServerSummary): object {
  const { name: _name, ...fields } = server;
  return fields;
}

function shownTools(tools: readonly ToolSpec[] | undefined, detail: Detail): object {
  if (tools === undefined || detail === 'none') return {};
  return { tools: tools.map((tool) => (detail === 'full' ? fullTool(tool) : summary(tool))) };
}

const summary = ({ name, description }: ToolSpec): object =>
  description === undefined ? { name } : { name, description };

const fullTool = (tool: ToolSpec): object => ({ ...summary(tool), inputSchema: tool.parameters });
