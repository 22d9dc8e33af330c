/** The product as `runwarden serve` starts it: one agent without tools, a SQLite journal. */
import { loadConfig } from '../../src/config/load.ts';
import { startServer } from '../../src/server.ts';
import { serveParent } from './child.ts';

const [, , upstream = '', folder = ''] = process.argv;

const text = `
[agent]
name = "bench"
system_prompt = "You talk."

[agent.llm]
provider = "openai"
api_key = "unused"
model = "bench"
base_url = "${upstream}/v1"
`;

const { config } = loadConfig({
  flags: { port: '0', 'data-dir': folder },
  env: {},
  cwd: folder,
  nowMs: Date.now(),
  fallback: () => [{ file: 'bench.toml', text }],
});

const { url } = await startServer(config);
serveParent(url, {});
