import { expect, it } from 'vitest';
import { configOf, HASH } from '../support/config-kit.ts';
import { sourcesOf } from './architecture-sources.ts';

/**
 * Hazard: a setting that is parsed and checked and then read by nobody. What has no effect is to be
 * refused as not supported yet, so each key that the configuration gives must be named by a file
 * that acts on it. A name that means something elsewhere too can slip through.
 */

const WHOLE = configOf(
  `
[agent]
name = "Helper"
alias = "helper"
description = "Helps."
system_prompt = "Be kind."
turn_depth = 7
created_at = 1600000000000
model_owner = "us"
mcp_filter = ["read_*"]
enable_client_tools = true
client_tool_filter = ["*"]
hidden = true
[agent.llm]
provider = "openai"
api_key = "sk-secret-key"
model = "gpt-5-mini"
base_url = "https://llm.test/v1"
max_tokens = 100
context_window = 1000
reasoning_effort = "high"
temperature = 0.5
additional_params = {}
[mcp]
sanitize_schemas = false
[mcp.servers.files]
transport = "stdio"
cmd = ["node"]
args = []
env = {}
[mcp.servers.web]
transport = "sse"
url = "https://mcp.test/mcp"
headers = {}
headers_from_request = {}
description = "Web."
[hitl]
require_approval = ["delete_*"]
allow_session_grants = true
allow_argument_edits = true
reminder_secs = 1
pause_total = true
[[hitl.rules]]
tools = ["write_*"]
when = [{ pointer = "/path", op = "matches", value = "^/etc/" }]
effect = "deny"
[hitl.route]
mode = "webhook"
url = "https://approvals.test/"
timeout_secs = 1.5
headers = {}
headers_from_request = {}
tool_headers_from_response = {}
[runtime.tools."slow_*"]
timeout_secs = 0
[[auth.keys]]
name = "ci"
hash = "${HASH}"
tenant = "red"
scopes = ["chat"]
[auth.limits]
live_runs = 1
`,
  {
    env: {
      DEFAULT_AGENT: 'helper',
      AURA_SERVER_URL: 'https://x.test',
      RUNWARDEN_DECIDER_HEADER: 'x-user',
      AURA_HITL_WEBHOOK_SECRET: 's'.repeat(32),
      AURA_HITL_WEBHOOK_SECRET_SECONDARY: 't'.repeat(32),
    },
  },
);

/** Files that describe the configuration, hand it on or print it, and do nothing about it. */
const PASSIVE =
  /^src\/(?:config\/|auth\.ts|http\/config\.ts|http-config\.ts|cli\/summary[-a-z]*\.ts|index\.ts)/;

/** It counts chunks and becomes bytes under another name where it is handed on. */
const RENAMED: readonly string[] = ['streamingBufferSize'];

function keysOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}

it('acts on every key that the configuration gives', () => {
  const active = sourcesOf('src', 'machines').filter(({ path }) => !PASSIVE.test(path));
  const words = new Set(active.flatMap(({ text }) => text.match(/\w+/g) ?? []));
  const keys = new Set(keysOf(WHOLE));
  expect(keys.size).toBeGreaterThan(60);
  const ignored = [...keys].filter((key) => !words.has(key) && !RENAMED.includes(key));
  expect(ignored).toEqual([]);
});
