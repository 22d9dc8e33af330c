import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ConfigSource } from '../config/document.ts';
import { variable } from '../config/environment.ts';
import type { Environment } from '../config/templates.ts';

/** Answers when a request names no agent. Nobody is asked, so it streams or not. */
export const DEMO_AGENT = 'demo';

/** Has the one tool that a person must approve; who is to be asked must read a stream. */
export const APPROVALS_AGENT = 'demo-approvals';

/** Where the agents of the demo stand, for faults and for hints. */
export const DEMO_FILE = 'the built-in demo';
const APPROVALS_FILE = 'the built-in demo of approvals';

const PROMPT = `You are a demo agent of Runwarden, a supervisor for LLM-agent runs.
Answer briefly. Use the tools when the user asks for what they do: slow_count counts with progress,
add adds, list_files and write_file work in a scratch directory, always_fails fails, and
ignores_cancel goes on after it was told to stop.`;

/** The tools of the bundled server that harm nothing; `delete_file` is not among them. */
const HARMLESS_TOOLS = [
  'add',
  'slow_count',
  'list_files',
  'write_file',
  'always_fails',
  'ignores_cancel',
] as const;

/**
 * The demo as ordinary configuration texts: two agents, on OpenAI when there is a key and on the
 * scripted model when there is none, with the bundled MCP server.
 */
export function demoSources(env: Environment): readonly ConfigSource[] {
  return [
    { file: DEMO_FILE, text: demoText(env) },
    { file: APPROVALS_FILE, text: approvalsText(env) },
  ];
}

const demoText = (env: Environment): string => `
[agent]
name = "${DEMO_AGENT}"
description = "Try its tools and a cancel. It deletes nothing."
system_prompt = ${JSON.stringify(
  `${PROMPT} The agent ${APPROVALS_AGENT} has delete_file, which a person must approve, and deploy, which asks a person.`,
)}
mcp_filter = ${JSON.stringify(HARMLESS_TOOLS)}
${commonText(env)}`;

const approvalsText = (env: Environment): string => `
[agent]
name = "${APPROVALS_AGENT}"
description = "The same with a tool that deletes, which a person must approve. Streams only."
system_prompt = ${JSON.stringify(
  `${PROMPT} And delete_file deletes for good; a person must approve it. deploy asks a person for the reason.`,
)}
${commonText(env)}
[hitl]
require_approval = ["delete_file"]
route = { mode = "conversational", timeout_secs = 300 }
`;

const commonText = (env: Environment): string => `
[agent.llm]
${modelLines(env)}

[mcp.servers.demo]
transport = "stdio"
cmd = ${JSON.stringify([process.execPath, demoServerPath()])}
description = "Bundled tools over stdio."
`;

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
