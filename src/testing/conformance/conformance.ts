import { Api } from './acts/api.ts';
import { Mismatch } from './acts/mismatch.ts';
import { Stage } from './acts/stage.ts';
import { AGENTS } from './kit/agents.ts';
import type { ConformanceOptions } from './options.ts';
import { type Report, summaryOf } from './report.ts';
import { runTasks } from './run-tasks.ts';
import { tasksOf } from './tasks.ts';
import { startRun } from './wire/wire-check.ts';

/** The server cannot be tested; the message says what it lacks. */
export class NotTestable extends Error {
  override readonly name = 'NotTestable';
}

/**
 * Takes every path of the features over HTTP and gives the report. Rejects with `NotTestable` when the
 * server cannot be reached or has not the kit's agents; whatever else it does wrong is in the report.
 */
export async function runConformance(options: ConformanceOptions): Promise<Report> {
  const { target, features, now } = options;
  await expectAgents(new Api(target, options));
  await expectConnected(options);
  const begun = now();
  const { tasks, charts } = tasksOf(features, options);
  const results = await runTasks(tasks, { onVerdict: () => {}, ...options });
  return {
    version: 1,
    server: target.base,
    started_at: new Date(begun).toISOString(),
    ms: now() - begun,
    charts,
    summary: summaryOf(results),
    results,
  };
}

async function expectAgents(api: Api): Promise<void> {
  const { base } = api.target;
  const answer = await api.ask('/v1/models').catch((error: unknown) => {
    throw new NotTestable(`${base} cannot be reached.`, { cause: error });
  });
  if (answer.status !== 200) {
    throw new NotTestable(`GET ${base}/v1/models answers ${answer.status}: ${answer.text}`);
  }
  const listed = (answer.json['data'] ?? []) as { id?: string }[];
  const missing = Object.values(AGENTS).filter((name) => listed.every(({ id }) => id !== name));
  if (missing.length === 0) return;
  const has = listed.map(({ id }) => id).join(', ');
  throw new NotTestable(`${base} lacks the agents ${missing.join(', ')}; it has ${has || 'none'}.`);
}

/** One run must ask the kit's model and reach its MCP server: else each path would wait in vain. */
async function expectConnected(options: ConformanceOptions): Promise<void> {
  const { target, kit, signal } = options;
  const api = new Api(target, options);
  const { model, tools, addresses } = kit;
  const stage = new Stage({ id: `${kit.name}-probe`, api, model, tools, signal });
  const wanted = `model ${addresses.model}, MCP server ${addresses.mcp}`;
  try {
    await startRun(stage, AGENTS.plain);
    await stage.until('mcp_status in the journal', () => stage.count('mcp_status') > 0);
    const connected = stage
      .latest('mcp_status')
      .servers.some(({ status }) => status === 'connected');
    if (!connected) throw new Mismatch('an MCP server that is connected', stage.excerpt());
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    throw new NotTestable(`${target.base} does not use the kit (${wanted}): ${why}.`);
  } finally {
    stage.letGo((call) => call.say());
    stage.leaveAll();
  }
}
