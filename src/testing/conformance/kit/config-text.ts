import { TURN_DEPTH } from '../paths/samples.ts';
import { AGENTS, type AgentName, DEADLINES, TOOLS } from './agents.ts';

/** Where the kit's model, MCP server and webhook listen. */
export interface KitAddresses {
  readonly model: string;
  readonly mcp: string;
  readonly webhook: string;
}

export interface ConfigFile {
  readonly name: string;
  readonly text: string;
}

/** The flags that a server needs beside the files: these limits have no key in TOML. */
export const SERVER_FLAGS: readonly string[] = [
  '--first-chunk-timeout-secs',
  String(DEADLINES.firstChunkSecs),
  '--stream-inactivity-timeout-secs',
  String(DEADLINES.inactivitySecs),
];

/** The configuration under which a server can be tested: one file an agent. */
export function configFiles(addresses: KitAddresses): readonly ConfigFile[] {
  const { plain, approvals, impatient, webhook } = AGENTS;
  return [
    file(plain, addresses, runtimeText()),
    file(
      approvals,
      addresses,
      hitlText(conversational(DEADLINES.approvalSecs), DEADLINES.reminderSecs),
    ),
    file(impatient, addresses, hitlText(conversational(DEADLINES.impatientApprovalSecs))),
    file(webhook, addresses, hitlText(webhookRoute(addresses))),
  ];
}

const file = (name: AgentName, addresses: KitAddresses, more: string): ConfigFile => ({
  name: `${name}.toml`,
  text: `[agent]
name = "${name}"
system_prompt = "You are the scripted agent of the conformance kit."
turn_depth = ${TURN_DEPTH}
[agent.llm]
provider = "openai"
api_key = "unused"
model = "scripted"
base_url = "${addresses.model}"

[mcp.servers.kit]
transport = "http_streamable"
url = "${addresses.mcp}"

${more}`,
});

/** Of the whole process, so one file has it. */
const runtimeText = (): string => `[runtime.timeouts]
step_secs = ${DEADLINES.stepSecs}
step_allowance_secs = 0
tool_secs = 0

[runtime.tools."${TOOLS.brief}"]
timeout_secs = ${DEADLINES.toolSecs}
`;

const hitlText = (route: string, reminderSecs = 0): string => `[hitl]
require_approval = ["${TOOLS.guarded}"]
reminder_secs = ${reminderSecs}
[hitl.route]
${route}
[[hitl.rules]]
tools = ["${TOOLS.forbidden}"]
effect = "deny"
`;

const conversational = (secs: number): string => `mode = "conversational"
timeout_secs = ${secs}`;

const webhookRoute = ({ webhook }: KitAddresses): string => `mode = "webhook"
url = "${webhook}"
timeout_secs = ${DEADLINES.approvalSecs}`;
