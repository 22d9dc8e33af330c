import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { secretsOf } from '../../src/config/redact.ts';
import { configOf, issuesOf, MINIMAL, NOW_MS, warningsOf } from '../support/config-kit.ts';

const FULL = `
[agent]
name = "Helper"
alias = "helper"
description = "Helps."
system_prompt = "Be kind."
context = ["One.", "Two."]
turn_depth = "7"
created_at = 1600000000000
model_owner = "us"
mcp_filter = ["read_*"]
enable_client_tools = "yes"
client_tool_filter = []
hidden = true
[agent.llm]
provider = "openai"
api_key = "sk-secret-key"
model = "gpt-5-mini"
base_url = "https://user:hunter2pw@llm.test/v1?api-version=secretquery"
max_tokens = "100"
context_window = 1000
reasoning_effort = "high"
temperature = 0.5
additional_params = { top_p = 0.1, nested = { a = [1] } }
[mcp]
sanitize_schemas = "off"
[mcp.servers.files]
transport = "stdio"
cmd = ["node", "server.js", "--token=secretarg"]
args = ["--key", "secretarg2"]
env = { API_TOKEN = "secretenv", MODE = "production" }
description = "Files."
[mcp.servers.web]
transport = "http_streamable"
url = "https://mcp.test/mcp?key=secreturl"
headers = { Authorization = "Bearer secretheader" }
headers_from_request = { X-User = "x-user" }
[hitl]
require_approval = ["delete_*"]
route = { mode = "conversational", timeout_secs = 1.5 }
[runtime]
max_parallel_tools = 2
allowed_origins = ["https://chat.test", "http://127.0.0.1:3000"]
[runtime.tools."slow_*"]
timeout_secs = 0
[runtime.tools."*"]
timeout_secs = 20
[runtime.journal]
store = "memory"
durability = "power"
`;

describe('configuration: what a file comes to', () => {
  it('gives defaults to everything that nobody set', () => {
    expect(configOf(MINIMAL)).toEqual({
      server: {
        host: '127.0.0.1',
        port: 8080,
        allowedOrigins: [],
        toolResultMode: 'none',
        toolResultMaxLength: 1000,
        streamingBufferSize: 400,
        customEvents: false,
        emitReasoning: false,
        debugProviderErrors: false,
        shutdownTimeoutMs: 30_000,
        dataDir: '/nonexistent/runwarden-tests/.runwarden',
        logLevel: 'info',
      },
      timeouts: {
        setupMs: 30_000,
        mcpConnectMs: 10_000,
        firstChunkMs: 90_000,
        inactivityMs: 0,
        stepMs: 300_000,
        stepAllowanceMs: 60_000,
        totalMs: 900_000,
        toolMs: 120_000,
        toolStopGraceMs: 5_000,
      },
      parallelToolsMax: 4,
      tools: [],
      journal: {
        store: 'sqlite',
        durability: 'process',
        checkInvariants: false,
        retentionMs: 2_592_000_000,
        sessionBytesMax: 0,
        totalBytesMax: 10_737_418_240,
      },
      liveness: {
        chat: { policy: 'cancel', graceMs: 0 },
        headless: { policy: 'continue', graceMs: 0 },
      },
      onBusy: { chat: 'parallel', headless: 'reject' },
      crash: { recover: 'fail' },
      park: { resumeOnStart: false, resumeConcurrency: 4 },
      agents: [
        {
          id: 'a',
          name: 'a',
          systemPrompt: 'Be kind.',
          turnDepth: 5,
          createdAtMs: NOW_MS,
          enableClientTools: false,
          hidden: false,
          llm: { provider: 'scripted', model: 'demo' },
          mcp: { sanitizeSchemas: true, servers: [] },
        },
      ],
    });
  });

  it('takes every key of an agent', () => {
    expect(configOf(FULL).agents).toEqual([
      {
        id: 'helper',
        name: 'Helper',
        alias: 'helper',
        description: 'Helps.',
        systemPrompt: 'Be kind.\n\nOne.\n\nTwo.',
        turnDepth: 7,
        createdAtMs: 1_600_000_000_000,
        modelOwner: 'us',
        mcpFilter: ['read_*'],
        enableClientTools: true,
        clientToolFilter: [],
        hidden: true,
        llm: {
          provider: 'openai',
          apiKey: 'sk-secret-key',
          model: 'gpt-5-mini',
          baseUrl: 'https://user:hunter2pw@llm.test/v1?api-version=secretquery',
          maxTokens: 100,
          contextWindow: 1000,
          reasoningEffort: 'high',
          temperature: 0.5,
          additionalParams: { top_p: 0.1, nested: { a: [1] } },
        },
        mcp: {
          sanitizeSchemas: false,
          servers: [
            {
              name: 'files',
              transport: 'stdio',
              cmd: ['node', 'server.js', '--token=secretarg'],
              args: ['--key', 'secretarg2'],
              env: { API_TOKEN: 'secretenv', MODE: 'production' },
              description: 'Files.',
            },
            {
              name: 'web',
              transport: 'http_streamable',
              url: 'https://mcp.test/mcp?key=secreturl',
              headers: { Authorization: 'Bearer secretheader' },
              headersFromRequest: { 'X-User': 'x-user' },
            },
          ],
        },
        hitl: {
          rules: [],
          requireApproval: ['delete_*'],
          allowSessionGrants: false,
          allowArgumentEdits: false,
          reminderMs: 0,
          pauseTotal: false,
          route: { mode: 'conversational', timeoutMs: 1_500 },
        },
      },
    ]);
  });

  it('takes every key of the runtime, tool limits in their order', () => {
    const { parallelToolsMax, server, tools, journal } = configOf(FULL);
    expect(parallelToolsMax).toBe(2);
    expect(server.allowedOrigins).toEqual(['https://chat.test', 'http://127.0.0.1:3000']);
    expect(tools).toEqual([
      { glob: 'slow_*', timeoutMs: 0, idempotent: false },
      { glob: '*', timeoutMs: 20_000, idempotent: false },
    ]);
    expect(journal).toMatchObject({ store: 'memory', durability: 'power' });
  });

  it('is frozen to its leaves', () => {
    const config = configOf(FULL);
    const [agent] = config.agents;
    for (const part of [
      config,
      config.server,
      config.agents,
      agent,
      agent?.llm,
      agent?.mcp.servers[0],
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it('prints no secret, neither as JSON nor in a log', () => {
    const config = configOf(FULL);
    for (const printed of [JSON.stringify(config), inspect(config, { depth: 20 })]) {
      expect(printed).not.toMatch(/secret|hunter2/);
      expect(printed).toContain('[redacted]');
      expect(printed).toContain('https://llm.test/v1');
    }
  });

  it('knows every value that a log must blank out', () => {
    expect(secretsOf(configOf(FULL))).toEqual([
      'sk-secret-key',
      'hunter2pw',
      'secretquery',
      'secretenv',
      'Bearer secretheader',
      'secretheader',
      'secreturl',
    ]);
  });
});

describe('configuration: who wins', () => {
  const toml = `${MINIMAL}[runtime]\ntimeouts = { total_secs = 1, setup_secs = 11 }\nmax_parallel_tools = 3`;

  it('takes a flag before the environment before TOML before the default', () => {
    const total = (told: Parameters<typeof configOf>[1]): number =>
      configOf(toml, told).timeouts.totalMs;
    const env = { STREAMING_TIMEOUT_SECS: '2' };
    expect(configOf(MINIMAL).timeouts.totalMs).toBe(900_000);
    expect(total({})).toBe(1_000);
    expect(total({ env })).toBe(2_000);
    expect(total({ env: { ...env, RUNWARDEN_TOTAL_SECS: '3' } })).toBe(3_000);
    expect(total({ env, flags: { 'streaming-timeout-secs': '4' } })).toBe(4_000);
  });

  it.each([
    ['RUNWARDEN_SETUP_SECS', 'setupMs'],
    ['RUNWARDEN_MCP_CONNECT_SECS', 'mcpConnectMs'],
    ['RUNWARDEN_STEP_SECS', 'stepMs'],
    ['RUNWARDEN_STEP_ALLOWANCE_SECS', 'stepAllowanceMs'],
    ['RUNWARDEN_TOOL_SECS', 'toolMs'],
    ['RUNWARDEN_TOOL_STOP_GRACE_SECS', 'toolStopGraceMs'],
    ['RUNWARDEN_TOTAL_SECS', 'totalMs'],
    ['FIRST_CHUNK_TIMEOUT_SECS', 'firstChunkMs'],
    ['STREAM_INACTIVITY_TIMEOUT_SECS', 'inactivityMs'],
  ] as const)('%s sets %s', (variable, name) => {
    expect(configOf(toml, { env: { [variable]: '7.25' } }).timeouts[name]).toBe(7_250);
  });

  it.each([
    [{ RUNWARDEN_MAX_PARALLEL_TOOLS: '9' }, { parallelToolsMax: 9 }],
    [{ RUNWARDEN_STORE: 'memory' }, { journal: { store: 'memory', durability: 'process' } }],
    [{ RUNWARDEN_DURABILITY: 'power' }, { journal: { store: 'sqlite', durability: 'power' } }],
    [{ RUNWARDEN_CHECK_INVARIANTS: 'on' }, { journal: { checkInvariants: true } }],
    [{ RUNWARDEN_DATA_DIR: '/data' }, { server: { dataDir: '/data' } }],
    [
      { RUNWARDEN_ALLOWED_ORIGINS: 'https://a.test, http://b.test:1' },
      { server: { allowedOrigins: ['https://a.test', 'http://b.test:1'] } },
    ],
    [{ HOST: '::1', PORT: '0' }, { server: { host: '::1', port: 0 } }],
    [
      { TOOL_RESULT_MODE: 'hidden', TOOL_RESULT_MAX_LENGTH: '0' },
      { server: { toolResultMode: 'hidden', toolResultMaxLength: 0 } },
    ],
    [
      { AURA_CUSTOM_EVENTS: 'Y', AURA_EMIT_REASONING: 'on', AURA_DEBUG_PROVIDER_ERRORS: '1' },
      { server: { customEvents: true, emitReasoning: true, debugProviderErrors: true } },
    ],
    [
      { SHUTDOWN_TIMEOUT_SECS: '0', STREAMING_BUFFER_SIZE: '5' },
      { server: { shutdownTimeoutMs: 0, streamingBufferSize: 5 } },
    ],
    [
      { DEFAULT_AGENT: 'a', AURA_SERVER_URL: 'https://x.test' },
      { server: { defaultAgent: 'a', serverUrl: 'https://x.test' } },
    ],
  ])('%j gives %j', (env, expected) => {
    expect(configOf(MINIMAL, { env })).toMatchObject(expected);
  });

  it('takes a variable that is set to nothing for one that is not set', () => {
    expect(configOf(MINIMAL, { env: { PORT: '', RUNWARDEN_STEP_SECS: '' } }).server.port).toBe(
      8080,
    );
  });

  it('takes a switch without a value for on, and logs as much as was asked for', () => {
    const { server } = configOf(MINIMAL, { flags: { 'aura-custom-events': true, verbose: true } });
    expect(server).toMatchObject({ customEvents: true, logLevel: 'debug' });
    expect(configOf(MINIMAL, { flags: { debug: true, verbose: true } }).server.logLevel).toBe(
      'trace',
    );
  });

  it.each([
    [
      { env: { PORT: '80a' } },
      'environment: PORT is not a whole number: "80a". Use a whole number from 0 to 65535; 0 lets the system choose.',
    ],
    [
      { env: { PORT: '65536' } },
      'environment: PORT is out of range: "65536". Use a whole number from 0 to 65535; 0 lets the system choose.',
    ],
    [
      { env: { PORT: '0x10' } },
      'environment: PORT is not a whole number: "0x10". Use a whole number from 0 to 65535; 0 lets the system choose.',
    ],
    [
      { flags: { 'tool-result-mode': 'hiden' } },
      'command line: --tool-result-mode is not a known value: "hiden". Did you mean "hidden"? Use "none", "open-web-ui", "aura", "hidden".',
    ],
    [
      { env: { SHUTDOWN_TIMEOUT_SECS: '-1' } },
      'environment: SHUTDOWN_TIMEOUT_SECS is out of range: "-1". Use a number of seconds from 0.001 to 2147483, or 0 for none.',
    ],
    [
      { env: { RUNWARDEN_SETUP_SECS: '0' } },
      'environment: RUNWARDEN_SETUP_SECS is out of range: "0". Use a number of seconds from 0.001 to 2147483; 0 makes no sense here.',
    ],
    [
      { env: { RUNWARDEN_ALLOWED_ORIGINS: 'https://a.test/x' } },
      'environment: RUNWARDEN_ALLOWED_ORIGINS holds "https://a.test/x", which is not an origin. Write each as scheme://host or scheme://host:port, without a path.',
    ],
    [
      { env: { DEFAULT_AGENT: 'b' } },
      'environment: DEFAULT_AGENT names "b", which is neither the alias nor the name of a loaded agent. Did you mean "a"? Loaded: "a".',
    ],
    [
      { flags: { 'default-agent': 'other' } },
      'command line: --default-agent names "other", which is neither the alias nor the name of a loaded agent. Loaded: "a".',
    ],
    [
      { flags: { 'enable-a2a': true } },
      'command line: --enable-a2a is not supported yet. Leave it out.',
    ],
    [
      { env: { AURA_ENABLE_A2A: 'true' } },
      'environment: AURA_ENABLE_A2A is not supported yet. Unset it.',
    ],
    [
      { env: { AURA_SESSION_STORE: 'redis' } },
      'environment: AURA_SESSION_STORE is not supported yet. Unset it; RUNWARDEN_STORE chooses "sqlite" or "memory".',
    ],
  ])('refuses %j', (told, expected) => {
    expect(issuesOf(MINIMAL, told)).toEqual([expected]);
  });

  it('accepts variables of unbuilt parts that leave them off', () => {
    const env = { AURA_ENABLE_A2A: 'no', AURA_SESSION_STORE: 'memory', AURA_PROMPT_JOURNAL: '0' };
    expect(issuesOf(MINIMAL, { env })).toEqual([]);
  });

  it('warns of a variable of ours that nobody reads', () => {
    expect(
      warningsOf(MINIMAL, {
        env: { RUNWARDEN_TOOL_SEC: '3', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' },
      }),
    ).toEqual([
      'environment: RUNWARDEN_TOOL_SEC is not a known variable. Did you mean RUNWARDEN_TOOL_SECS?',
      'environment: OTEL_EXPORTER_OTLP_ENDPOINT has no effect: telemetry is not supported yet. Unset it.',
    ]);
  });
});
