import { ScriptedModel } from './model.ts';
import { ScriptedTools } from './tools.ts';
import type { KitAddresses } from './config-text.ts';

/** The scripted model and the scripted tools of one report. */
export interface Kit {
  /** Begins the names of the report's sessions, so that no two reports share one. */
  readonly name: string;
  readonly model: ScriptedModel;
  readonly tools: ScriptedTools;
  readonly addresses: KitAddresses;
  close(): Promise<void>;
}

export interface KitPorts {
  readonly model: number;
  readonly mcp: number;
}

/** Starts both on loopback; rejects when a port is taken. */
export async function startKit(ports: KitPorts, name: string): Promise<Kit> {
  const model = await ScriptedModel.start(ports.model);
  const tools = await ScriptedTools.start(ports.mcp).catch(async (error: unknown) => {
    await model.close();
    throw error;
  });
  const addresses = { model: model.url, mcp: tools.mcpUrl, webhook: tools.webhookUrl };
  const close = async (): Promise<void> => {
    await Promise.all([model.close(), tools.close()]);
  };
  return { name, model, tools, addresses, close };
}

/** The same addresses as text, without listening. */
export const addressesOf = ({ model, mcp }: KitPorts): KitAddresses => ({
  model: `http://127.0.0.1:${model}/v1`,
  mcp: `http://127.0.0.1:${mcp}/mcp`,
  webhook: `http://127.0.0.1:${mcp}/decide`,
});
