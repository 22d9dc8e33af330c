import { describe, expect, it } from 'vitest';
import { issuesOf, MINIMAL, OPENAI } from '../support/config-kit.ts';

describe('configuration: what is refused, with file, line, key and advice', () => {
  it('accepts the least there is', () => {
    expect(issuesOf(MINIMAL)).toEqual([]);
    expect(issuesOf(OPENAI)).toEqual([]);
  });

  const seconds = 'Use a number of seconds from 0.001 to 2147483';
  const off = `${seconds}, or 0 to turn it off.`;
  const noSense = `${seconds}; 0 makes no sense here.`;

  it.each([
    [
      'an unknown key, with the one that was meant',
      '[runtime.timeouts]\nsestup_secs = 3',
      'a.toml:7: runtime.timeouts.sestup_secs is not a known key. Did you mean "setup_secs"?',
    ],
    [
      'an unknown key that is like none',
      '[runtime.journal]\nfoo = 3',
      'a.toml:7: runtime.journal.foo is not a known key. Known keys here: store, durability, check_invariants, retention_secs, session_max_bytes, total_max_bytes.',
    ],
    [
      'a key that is set elsewhere',
      '[runtime.timeouts]\nfirst_chunk_secs = 3',
      'a.toml:7: runtime.timeouts.first_chunk_secs is not a known key. Set FIRST_CHUNK_TIMEOUT_SECS or --first-chunk-timeout-secs.',
    ],
    [
      'a setup of 0 seconds',
      '[runtime]\ntimeouts = { setup_secs = 0 }',
      `a.toml:7: runtime.timeouts.setup_secs is out of range: 0. ${noSense}`,
    ],
    [
      'a connect of 0 seconds',
      '[runtime.timeouts]\nmcp_connect_secs = 0',
      `a.toml:7: runtime.timeouts.mcp_connect_secs is out of range: 0. ${noSense}`,
    ],
    [
      'a stop grace of 0 seconds',
      '[runtime.timeouts]\ntool_stop_grace_secs = 0.0',
      `a.toml:7: runtime.timeouts.tool_stop_grace_secs is out of range: 0. ${noSense}`,
    ],
    [
      'a negative number of seconds',
      '[runtime.timeouts]\nstep_secs = -1',
      `a.toml:7: runtime.timeouts.step_secs is out of range: -1. ${off}`,
    ],
    [
      'NaN seconds',
      '[runtime.timeouts]\ntotal_secs = nan',
      `a.toml:7: runtime.timeouts.total_secs is not a number of seconds: NaN. ${off}`,
    ],
    [
      'endless seconds',
      '[runtime.timeouts]\ntool_secs = inf',
      `a.toml:7: runtime.timeouts.tool_secs is out of range: Infinity. ${off}`,
    ],
    [
      'more seconds than a timer can wait',
      '[runtime.timeouts]\ntool_secs = 2147484',
      `a.toml:7: runtime.timeouts.tool_secs is out of range: 2147484. ${off}`,
    ],
    [
      'seconds below a millisecond, which would round to off',
      '[runtime.timeouts]\ntool_secs = 0.0004',
      `a.toml:7: runtime.timeouts.tool_secs is out of range: 0.0004. ${off}`,
    ],
    [
      'a count of 0',
      '[runtime]\nmax_parallel_tools = 0',
      'a.toml:7: runtime.max_parallel_tools is out of range: 0. Use a whole number from 1 to 256.',
    ],
    [
      'a count with decimals',
      '[runtime]\nmax_parallel_tools = 1.5',
      'a.toml:7: runtime.max_parallel_tools is not a whole number: 1.5. Use a whole number from 1 to 256.',
    ],
    [
      'a word that is nearly one of the known',
      '[runtime.journal]\nstore = "sqllite"',
      'a.toml:7: runtime.journal.store is not a known value: "sqllite". Did you mean "sqlite"? Use "sqlite", "memory".',
    ],
    [
      'a tool limit whose pattern is no glob',
      '[runtime.tools."a[b"]\ntimeout_secs = 1',
      'a.toml:6: runtime.tools."a[b" has a "[" without its "]" at character 2. Write a glob such as "delete_*", "db_[a-z]*" or "{move,remove}_file".',
    ],
    [
      'an approval pattern that is no glob, by its place in the list',
      '[hitl]\nroute = { mode = "conversational" }\nrequire_approval = [\n  "ok*",\n  "{a",\n]',
      'a.toml:10: hitl.require_approval[1] has a "{" without its "}" at character 1. Write a glob such as "delete_*", "db_[a-z]*" or "{move,remove}_file".',
    ],
    [
      'approvals without a route',
      '[hitl]\nrequire_approval = []',
      'a.toml:6: hitl.route is missing. Add it; it is a table.',
    ],
    [
      'a route without a mode',
      '[hitl]\n[hitl.route]\ntimeout_secs = 3',
      'a.toml:7: hitl.route.mode is missing. Use one of "conversational", "webhook".',
    ],
    [
      'an approval of 0 seconds',
      '[hitl]\nroute = { mode = "conversational", timeout_secs = 0 }',
      'a.toml:7: hitl.route.timeout_secs is out of range: 0. Use a number of seconds from 0.001 to 315360000; 0 makes no sense here.',
    ],
    [
      'a command that is no list',
      '[mcp.servers.x]\ntransport = "stdio"\ncmd = "node"',
      'a.toml:8: mcp.servers.x.cmd is not a list of strings. Write the program and its arguments as a list: ["node", "server.js"].',
    ],
    [
      'a transport that is nearly one',
      '[mcp.servers."my files"]\ntransport = "http_streamble"',
      'a.toml:7: mcp.servers."my files".transport is not a known value: "http_streamble". Did you mean "http_streamable"? Use one of "stdio", "http_streamable", "sse".',
    ],
    [
      'a key of another transport',
      '[mcp.servers.x]\ntransport = "sse"\nurl = "http://127.0.0.1:1/sse"\nargs = []',
      'a.toml:9: mcp.servers.x.args is not a known key. Known keys here: description, scratchpad, transport, url, headers, headers_from_request.',
    ],
    [
      'a server address that is no web address',
      '[mcp.servers.x]\ntransport = "sse"\nurl = "file:///x"',
      'a.toml:8: mcp.servers.x.url is not a web address. Use an address that starts with http:// or https://.',
    ],
    [
      'a header with a line break, without showing it',
      '[mcp.servers.x]\ntransport = "sse"\nurl = "http://h/"\n[mcp.servers.x.headers]\nX-Key = "se\\ncret"',
      'a.toml:10: mcp.servers.x.headers.X-Key has a value that no header can carry. Remove its line breaks and other control characters.',
    ],
    [
      'a name that no header has',
      '[mcp.servers.x]\ntransport = "sse"\nurl = "http://h/"\nheaders_from_request = { "a b" = "c" }',
      'a.toml:9: mcp.servers.x.headers_from_request."a b" is not the name of a header. Use letters, digits and "-" in the names of headers.',
    ],
    [
      'a header that is given twice',
      '[mcp.servers.x]\ntransport = "sse"\nurl = "http://h/"\nheaders = { A = "1", a = "2" }',
      'a.toml:9: mcp.servers.x.headers.a is the same header as another. Keep one of them.',
    ],
    [
      'the old place of the model',
      '[llm]\nprovider = "openai"',
      'a.toml:6: llm is the old place of the model. Rename the table [llm] to [agent.llm].',
    ],
  ])('%s', (_title, text, expected) => {
    expect(issuesOf(`${MINIMAL}${text}`)).toEqual([expected]);
  });

  it('refuses an unknown key at the top that is no table', () => {
    expect(issuesOf(`mcpp = 1\n${MINIMAL}`)).toEqual([
      'a.toml:1: mcpp is not a known key. Did you mean "mcp"?',
    ]);
  });

  it.each([
    [
      'provider = "scripted"',
      'name = ""',
      'a.toml:2: agent.name is empty. Give it a value: "assistant".',
    ],
    [
      'provider = "scripted"',
      'alias = 3\nname = "a"',
      'a.toml:2: agent.alias is not a string. Write it in quotes: "my-agent".',
    ],
    [
      'provider = "scripted"',
      String.raw`name = "a"
alias = "a\u0000b"`,
      'a.toml:3: agent.alias holds a control character, such as a line break or a tab. Write it on one line: "my-agent".',
    ],
    [
      'provider = "scripted"',
      'name = "a"\nturn_depth = 0',
      'a.toml:3: agent.turn_depth is out of range: 0. Use a whole number from 1 to 1000.',
    ],
    [
      'provider = "scripted"',
      'name = "a"\nhidden = "perhaps"',
      'a.toml:3: agent.hidden is neither true nor false: "perhaps". Use true or false (1/0, yes/no and on/off are understood too).',
    ],
    [
      'provider = "scripted"',
      'name = "a"\ncontext = "x"',
      'a.toml:3: agent.context is not a list. Write it in brackets: ["one", "two"].',
    ],
    ['provider = "scripted"', '', 'a.toml:1: agent.name is missing. Add it; it has no default.'],
    [
      'provider = "openai"\nmodel = "m"',
      'name = "a"',
      'a.toml:4: agent.llm.api_key is missing. Add it; it has no default.',
    ],
    [
      'provider = "openai"\nmodel = "m"\napi_key = " "',
      'name = "a"',
      'a.toml:7: agent.llm.api_key is empty. Give it a value: "{{ env.OPENAI_API_KEY }}".',
    ],
    [
      String.raw`provider = "openai"
model = "m"
api_key = "sk-secret\n"`,
      'name = "a"',
      'a.toml:7: agent.llm.api_key holds a control character, such as a line break or a tab. Write it on one line: "{{ env.OPENAI_API_KEY }}".',
    ],
    [
      'provider = "openai"\nmodel = "m"\napi_key = "k"\ntemperature = 3',
      'name = "a"',
      'a.toml:8: agent.llm.temperature is out of range: 3. Use a number from 0 to 2.',
    ],
    [
      'provider = "openia"',
      'name = "a"',
      'a.toml:5: agent.llm.provider is not a known value: "openia". Did you mean "openai"? Use one of "openai", "scripted", "anthropic", "gemini", "openrouter", "bedrock", "ollama".',
    ],
    [
      'provider = "scripted"\nmodel = "x"',
      'name = "a"',
      'a.toml:6: agent.llm.model is not a known key. Known keys here: provider.',
    ],
    [
      'provider = "openai"\nmodel = "m"\napi_key = "k"\nadditional_params = { a = [nan], b = 1 }',
      'name = "a"',
      'a.toml:8: agent.llm.additional_params.a is not JSON. Use strings, switches, lists, tables and numbers that JSON knows.',
    ],
    [
      'provider = "openai"\nmodel = "m"\napi_key = "k"\nmax_tokens = 9007199254740993',
      'name = "a"',
      'a.toml:8: agent.llm.max_tokens is out of range: 9007199254740993. Use a whole number from 1 to 9007199254740991.',
    ],
  ])('refuses a wrong agent: %s, %s', (llm, agent, expected) => {
    const text = `[agent]\n${agent}\nsystem_prompt = ""\n[agent.llm]\n${llm}\n`;
    expect(issuesOf(text)).toEqual([expected]);
  });

  it('lists every error at once, in the order of the lines', () => {
    const text =
      '[agent]\nname = 1\nturn_dept = 2\n[agent.llm]\nprovider = "openai"\n[runtime.timeouts]\nsetup_secs = 0';
    expect(
      issuesOf(text).map((issue) => issue.split(' ')[0] + (issue.split(' ')[1] ?? '')),
    ).toEqual([
      'a.toml:1:agent.system_prompt',
      'a.toml:2:agent.name',
      'a.toml:3:agent.turn_dept',
      'a.toml:4:agent.llm.api_key',
      'a.toml:4:agent.llm.model',
      'a.toml:7:runtime.timeouts.setup_secs',
    ]);
  });

  it('tells a syntax error by line and column and shows nothing of the line', () => {
    const [issue = ''] = issuesOf('[agent]\napi_key = sk-secret-key\n');
    expect(issue).toBe('a.toml:2: not valid TOML at column 11: invalid value.');
  });

  it('refuses keys that trouble objects, where any other is known', () => {
    const server = '[mcp.servers.x]\ntransport = "sse"\nurl = "http://h/"\n';
    expect(issuesOf(`${MINIMAL}${server}headers = { __proto_ = "x" }`)).toEqual([]);
    const [issue] = issuesOf(`${MINIMAL}${server}headers = { __proto__ = "x" }`);
    expect(issue).toMatch(/^a\.toml:9: not valid TOML at column \d+: /);
  });

  it('shows no value of a secret, whatever is wrong with it', () => {
    const text = `${OPENAI}context_window = "sk-secret-key"\n[mcp.servers.x]\ntransport = "sse"\nurl = "hunter2://sk-secret-key"\n[mcp.servers.x.headers]\nA = ["sk-secret-key"]`;
    const told = { env: { KEY: 'sk-secret-key' } };
    const issues = issuesOf(
      text.replace('context_window = "sk-secret-key"', 'context_window = "{{ env.KEY }}"'),
      told,
    );
    expect(issues).toHaveLength(3);
    expect(issues.join()).not.toContain('secret');
    expect(issues.join()).toContain(
      'agent.llm.context_window is not a whole number: "{{ env.KEY }}".',
    );
  });
});

describe('configuration: what is known and not built', () => {
  it.each([
    ['memory_dir = "x"', 'memory_dir'],
    ['[[vector_stores]]\nname = "x"', 'vector_stores'],
    ['[orchestration]\nenabled = true', 'orchestration.enabled'],
    ['[tools]\nfilesystem = true', 'tools.filesystem'],
    ['[tools]\ncustom_tools = ["x"]', 'tools.custom_tools'],
    [
      '[mcp.servers.x]\ntransport = "stdio"\ncmd = ["x"]\nscratchpad = {}',
      'mcp.servers.x.scratchpad',
    ],
    ['[agent.scratchpad]\nenabled = true', 'agent.scratchpad.enabled'],
    ['[[agent.skills.local]]\nsource = "x"', 'agent.skills.local'],
  ])('refuses %j', (text, key) => {
    const all = text.startsWith('memory_dir') ? `${text}\n${MINIMAL}` : `${MINIMAL}${text}`;
    const issues = issuesOf(all);
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatch(/^a\.toml:\d+: /);
    expect(issues[0]).toContain(` ${key} is not supported yet`);
    expect(issues[0]).toMatch(/\. [A-Z].*\.$/);
  });

  it.each([['anthropic'], ['gemini'], ['openrouter'], ['bedrock'], ['ollama']])(
    'refuses the provider %s with all its keys',
    (provider) => {
      const text = MINIMAL.replace('"scripted"', `"${provider}"\nregion = "x"`);
      expect(issuesOf(text)).toEqual([
        `a.toml:5: agent.llm.provider is not supported yet: "${provider}". Use "openai"; with base_url it reaches any OpenAI-compatible endpoint.`,
      ]);
    },
  );

  it.each([['nudge_last_turn = true'], ['nudge_turns_remaining = 2']])('refuses %s', (line) => {
    const [issue] = issuesOf(MINIMAL.replace('name = "a"', `name = "a"\n${line}`));
    expect(issue).toContain('is not supported yet');
  });

  it('accepts each of them where it is switched off', () => {
    const text = `vector_stores = []
${MINIMAL.replace('name = "a"', 'name = "a"\nnudge_last_turn = false')}
[agent.scratchpad]
enabled = false
max_extraction_tokens = 3
[tools]
filesystem = false
custom_tools = []
[orchestration]
enabled = "false"
max_planning_cycles = 3
[orchestration.worker.x]
preamble = "p"
`;
    expect(issuesOf(text)).toEqual([]);
  });

  it('refuses misspelt keys of a part that is off', () => {
    expect(issuesOf(`${MINIMAL}[orchestration]\nmax_planing_cycles = 3`)).toEqual([
      'a.toml:7: orchestration.max_planing_cycles is not a known key. Did you mean "max_planning_cycles"?',
    ]);
  });
});
