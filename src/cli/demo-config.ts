import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ConfigSource } from '../config/document.ts';
import { variable } from '../config/environment.ts';
import type { Environment } from '../config/templates.ts';

export const DEMO_FILE = 'the built-in demo';

const PROMPT = `You are the demo agent of Runwarden, a supervisor for LLM-agent runs.
Answer briefly. Use the tools when the user asks for what they do: slow_count counts with progress,
add adds, list_files, write_file and delete_file work in a scratch directory, always_fails fails,
and ignores_cancel goes on after it was told to stop. A person must approve delete_file.`;

/**
 * The demo as an ordinary configuration text: one agent, on OpenAI when there is a key and on the
 * scripted model when there is none, with the bundled MCP server.
 */
export function demoSource(env: Environment): ConfigSource {
  const text = `
[agent]
name = "demo"
description = "The demo agent: try its tools, an approval and a cancel."
system_prompt = ${JSON.stringify(PROMPT)}

[agent.llm]
${modelLines(env)}

[mcp.servers.demo]
transport = "stdio"
cmd = ${JSON.stringify([process.execPath, demoServerPath()])}
description = "Bundled tools over stdio."

[hitl]
require_approval = ["delete_file"]
route = { mode = "conversational", timeout_secs = 300 }
`;
  return { file: DEMO_FILE, text };
}

function modelLines(env: Environment): string {
  if (variable(env, 'OPENAI_API_KEY') === undefined) return 'provider = "scripted"';
  const lines = ['provider = "openai"', 'api_key = "{{ env.OPENAI_API_KEY }}"', modelLine(env)];
  const hasBaseUrl = variable(env, 'OPENAI_BASE_URL') !== undefined;
  return [...lines, ...(hasBaseUrl ? ['base_url = "{{ env.OPENAI_BASE_URL }}"'] : [])].join('\n');
}

/** A variable that is set to nothing would leave the template empty, not give its default. */
const modelLine = (env: Environment): string =>
  variable(env, 'OPENAI_MODEL') === undefined
    ? 'model = "gpt-5-mini"'
    : 'model = "{{ env.OPENAI_MODEL }}"';

/** It lies beside this file's folder, as source or built. */
function demoServerPath(): string {
  const own = import.meta.url;
  return fileURLToPath(new URL(`../mcp/demo-server${extname(own)}`, own));
}
