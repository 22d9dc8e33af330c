import { describe, expect, it } from 'vitest';
import { summarize } from '../../src/cli/summary.ts';
import type { HitlConfig } from '../../src/config/config.ts';
import { APPROVAL_MS_MAX } from '../../src/supervisor-options.ts';
import { configOf, issuesOf, loadTexts, MINIMAL } from '../support/config-kit.ts';

/** Nine lines: what follows begins on line 10. */
const HITL = `${MINIMAL}[hitl.route]
mode = "conversational"
[hitl]
require_approval = ["delete_*"]
`;

const WEBHOOK = `${MINIMAL}[hitl.route]
mode = "webhook"
url = "https://approvals.test/ask"
`;

const hitlOf = (text: string): HitlConfig | undefined => configOf(text).agents[0]?.hitl;

/** A rule whose one condition is on the lines 13 to 15. */
const ruleText = (condition: string): string => `${HITL}[[hitl.rules]]
tools = ["write_*"]
effect = "deny"
[[hitl.rules.when]]
${condition}`;

const valueIssues = (op: string, value: string): readonly string[] =>
  issuesOf(ruleText(`pointer = "/a"\nop = "${op}"\nvalue = ${value}`));

describe('configuration of approvals: what it comes to', () => {
  it('takes the rules in their order, and what an approver may do', () => {
    const text = `${HITL}allow_session_grants = true
allow_argument_edits = "yes"
reminder_secs = 2.5
pause_total = true
[[hitl.rules]]
tools = ["write_*", "move_*"]
when = [
  { pointer = "/path", op = "matches", value = "^/etc/" },
  { pointer = "/n", op = "in", value = [1, "one", true] },
  { pointer = "/size", op = "gt", value = "10" },
]
effect = "deny"
[[hitl.rules]]
tools = ["read_*"]
effect = "allow"`;
    expect(hitlOf(text)).toEqual({
      requireApproval: ['delete_*'],
      rules: [
        {
          tools: ['write_*', 'move_*'],
          when: [
            { pointer: '/path', op: 'matches', value: '^/etc/' },
            { pointer: '/n', op: 'in', value: [1, 'one', true] },
            { pointer: '/size', op: 'gt', value: 10 },
          ],
          effect: 'deny',
        },
        { tools: ['read_*'], when: [], effect: 'allow' },
      ],
      allowSessionGrants: true,
      allowArgumentEdits: true,
      reminderMs: 2_500,
      pauseTotal: true,
      route: { mode: 'conversational', timeoutMs: 60_000 },
    });
  });

  it('has an empty list of conditions where a rule has none', () => {
    const text = `${HITL}[[hitl.rules]]\ntools = ["a"]\neffect = "deny"`;
    expect(hitlOf(text)?.rules).toEqual([{ tools: ['a'], when: [], effect: 'deny' }]);
  });

  it('leaves a webhook alone with five minutes and no headers', () => {
    expect(hitlOf(WEBHOOK)).toEqual({
      requireApproval: [],
      rules: [],
      allowSessionGrants: false,
      allowArgumentEdits: false,
      reminderMs: 0,
      pauseTotal: false,
      route: {
        mode: 'webhook',
        url: 'https://approvals.test/ask',
        timeoutMs: 300_000,
        headers: {},
        headersFromRequest: {},
        toolHeadersFromResponse: {},
      },
    });
  });

  it('writes the names of headers in lower case and leaves their values', () => {
    const text = `${WEBHOOK}headers = { Authorization = "Bearer Abc" }
headers_from_request = { X-User = "X-Forwarded-User" }
tool_headers_from_response = { Authorization = "X-Tool-Token" }`;
    expect(hitlOf(text)?.route).toMatchObject({
      headers: { authorization: 'Bearer Abc' },
      headersFromRequest: { 'x-user': 'x-forwarded-user' },
      toolHeadersFromResponse: { authorization: 'x-tool-token' },
    });
  });

  it('passes over the headers of a webhook that are always the same', () => {
    const text = `${WEBHOOK}headers = { Content-Type = "text/plain", X-A = "1" }
headers_from_request = { ACCEPT = "accept", X-B = "x-b" }`;
    expect(hitlOf(text)?.route).toHaveProperty('headers', { 'x-a': '1' });
    expect(hitlOf(text)?.route).toHaveProperty('headersFromRequest', { 'x-b': 'x-b' });
  });

  it('lets a person take thirty days, and ten years at most, on both routes', () => {
    const most = APPROVAL_MS_MAX / 1_000;
    for (const text of [
      HITL.replace('[hitl]', 'timeout_secs = #\n[hitl]'),
      `${WEBHOOK}timeout_secs = #`,
    ]) {
      const told = (secs: number): string => text.replace('#', String(secs));
      expect(hitlOf(told(2_592_000))?.route.timeoutMs).toBe(2_592_000_000);
      expect(hitlOf(told(most))?.route.timeoutMs).toBe(APPROVAL_MS_MAX);
      expect(issuesOf(told(most + 1))).toHaveLength(1);
      expect(issuesOf(told(0))).toHaveLength(1);
    }
    expect(hitlOf(`${HITL}reminder_secs = ${most}`)?.reminderMs).toBe(APPROVAL_MS_MAX);
    expect(issuesOf(`${HITL}reminder_secs = ${most + 1}`)).toHaveLength(1);
  });

  it('fills a rule in from the environment', () => {
    const text = ruleText('pointer = "/env"\nop = "eq"\nvalue = "{{ env.TARGET }}"');
    const { agents } = configOf(text, { env: { TARGET: 'production' } });
    expect(agents[0]?.hitl?.rules[0]?.when[0]?.value).toBe('production');
  });
});

const PATTERN_ADVICE =
  'Write a regular expression in RE2\'s syntax, such as "^/etc/" or "(?i)drop table"; it has no look-around and no back references.';

describe('configuration of approvals: what is refused', () => {
  it.each([
    [
      'eq',
      '[1]',
      'is neither a string nor a number nor a boolean. Write a string, a number, true or false.',
    ],
    [
      'ne',
      '{}',
      'is neither a string nor a number nor a boolean. Write a string, a number, true or false.',
    ],
    [
      'eq',
      '2020-01-01',
      'is neither a string nor a number nor a boolean. Write a string, a number, true or false.',
    ],
    [
      'eq',
      'nan',
      'is neither a string nor a number nor a boolean. Write a string, a number, true or false.',
    ],
    [
      'eq',
      '99999999999999999999',
      'is neither a string nor a number nor a boolean. Write a string, a number, true or false.',
    ],
    ['in', '"a"', 'is not a list. Write what it may be, in brackets: ["staging", "test"].'],
    ['in', '[]', 'is empty. Write what it may be, in brackets: ["staging", "test"].'],
    [
      'in',
      '[[1]]',
      'holds something else than strings, numbers and booleans. Write what it may be, in brackets: ["staging", "test"].',
    ],
    ['gt', '"ten"', 'is not a number: "ten". Write a number: 10 or 0.5.'],
    ['lt', 'true', 'is not a number: true. Write a number: 10 or 0.5.'],
    ['lt', '-inf', 'is out of range: -Infinity. Write a number: 10 or 0.5.'],
    ['matches', '5', `is not a string. ${PATTERN_ADVICE}`],
    [
      'matches',
      '"(?=a)"',
      `is no regular expression that we match: invalid or unsupported Perl syntax at "(?=". ${PATTERN_ADVICE}`,
    ],
    [
      'matches',
      '"(a"',
      `is no regular expression that we match: missing closing ) at "(a". ${PATTERN_ADVICE}`,
    ],
  ])('%s with the value %s', (op, value, rest) => {
    expect(valueIssues(op, value)).toEqual([
      `a.toml:16: hitl.rules[0].when[0].value (of op = "${op}") ${rest}`,
    ]);
  });

  it.each([
    [
      'pointer = "a"\nop = "eq"\nvalue = 1',
      'a.toml:14: hitl.rules[0].when[0].pointer does not begin with "/": "a". Write a JSON pointer into the arguments, such as "/path" or "/items/0/id".',
    ],
    [
      'pointer = "/a~2"\nop = "eq"\nvalue = 1',
      'a.toml:14: hitl.rules[0].when[0].pointer has a "~" that is neither "~0" nor "~1": "/a~2". Write a JSON pointer into the arguments, such as "/path" or "/items/0/id".',
    ],
    [
      'pointer = "/a"\nop = "equals"\nvalue = 1',
      'a.toml:15: hitl.rules[0].when[0].op is not a known value: "equals". Use "eq", "ne", "in", "matches", "gt", "lt".',
    ],
    [
      'pointer = "/a"\nop = "eq"',
      'a.toml:13: hitl.rules[0].when[0].value (of op = "eq") is missing. Say what is compared with.',
    ],
    [
      'op = "eq"\nvalue = 1',
      'a.toml:13: hitl.rules[0].when[0].pointer is missing. Add it; it has no default.',
    ],
  ])('the condition %j', (condition, issue) => {
    expect(issuesOf(ruleText(condition))).toEqual([issue]);
  });

  it('misspelt and missing, in one go', () => {
    expect(issuesOf(ruleText('pointer = "/a"\nop = "eq"\nvalu = 1'))).toEqual([
      'a.toml:13: hitl.rules[0].when[0].value (of op = "eq") is missing. Say what is compared with.',
      'a.toml:16: hitl.rules[0].when[0].valu is not a known key. Did you mean "value"?',
    ]);
  });

  it('names the condition that is wrong by its place', () => {
    const text = `${HITL}[[hitl.rules]]
tools = ["a"]
effect = "deny"
[[hitl.rules]]
tools = ["b"]
effect = "deny"
when = [
  { pointer = "/a", op = "eq", value = 1 },
  { pointer = "/b", op = "gt", value = "x" },
]`;
    expect(issuesOf(text)).toEqual([
      'a.toml:18: hitl.rules[1].when[1].value (of op = "gt") is not a number: "x". Write a number: 10 or 0.5.',
    ]);
  });

  it.each([
    [
      '[[hitl.rules]]\ntools = []\neffect = "deny"',
      'a.toml:11: hitl.rules[0].tools is empty. List the tools that the rule is for, such as ["delete_*"].',
    ],
    [
      '[[hitl.rules]]\neffect = "deny"',
      'a.toml:10: hitl.rules[0].tools is missing. Add it; it is a list.',
    ],
    [
      '[[hitl.rules]]\ntools = ["a", "[b"]\neffect = "deny"',
      'a.toml:11: hitl.rules[0].tools[1] has a "[" without its "]" at character 1. Write a glob such as "delete_*", "db_[a-z]*" or "{move,remove}_file".',
    ],
    [
      '[[hitl.rules]]\ntools = ["a"]\neffect = "denny"',
      'a.toml:12: hitl.rules[0].effect is not a known value: "denny". Did you mean "deny"? Use "approve", "deny", "allow".',
    ],
    [
      '[[hitl.rules]]\ntools = ["a"]',
      'a.toml:10: hitl.rules[0].effect is missing. Add it; it has no default.',
    ],
    ['rules = 3', 'a.toml:10: hitl.rules is not a list. Write it in brackets: ["one", "two"].'],
    [
      'pause_total = "perhaps"',
      'a.toml:10: hitl.pause_total is neither true nor false: "perhaps". Use true or false (1/0, yes/no and on/off are understood too).',
    ],
  ])('%j', (text, issue) => {
    expect(issuesOf(HITL + text)).toEqual([issue]);
  });

  const reserved = 'is a reserved header. Leave it out; Runwarden sets it where it is needed.';

  it.each<readonly [string, string]>([
    ['headers = { "Bad Name" = "x" }', 'headers."Bad Name" is not the name of a header.'],
    [
      'headers = { A = "x", a = "y" }',
      'headers.a is the same header as another. Keep one of them.',
    ],
    ['headers = { a = "x\\ny" }', 'headers.a has a value that no header can carry.'],
    ['headers = { Idempotency-Key = "x" }', `headers.Idempotency-Key ${reserved}`],
    ['headers = { X-Aura-Event = "x" }', `headers.X-Aura-Event ${reserved}`],
    ['headers = { X-Runwarden-Expires-At = "x" }', `headers.X-Runwarden-Expires-At ${reserved}`],
    [
      'headers_from_request = { x-aura-signature-256 = "a" }',
      `headers_from_request.x-aura-signature-256 ${reserved}`,
    ],
    [
      'headers_from_request = { X-Aura-Timestamp = "a" }',
      `headers_from_request.X-Aura-Timestamp ${reserved}`,
    ],
    ['headers_from_request = { a = "b c" }', 'headers_from_request.a is not the name of a header.'],
    ...[
      'content-type',
      'Accept',
      'Mcp-Session-Id',
      'host',
      'Content-Length',
      'transfer-encoding',
    ].map(
      (name) =>
        [
          `tool_headers_from_response = { ${name} = "a" }`,
          `tool_headers_from_response.${name} ${reserved}`,
        ] as const,
    ),
    [
      'tool_headers_from_response = { A = "x", a = "y" }',
      'tool_headers_from_response.a is the same header as another.',
    ],
    [
      'tool_headers_from_response = { a = "b c" }',
      'tool_headers_from_response.a is not the name of a header.',
    ],
    ['secret = "x"', 'secret is not a known key. Known keys here: mode, url, timeout_secs'],
  ])('a webhook with %s', (line, issue) => {
    const issues = issuesOf(WEBHOOK + line);
    expect(issues).toHaveLength(1);
    expect(issues[0]).toContain(`a.toml:9: hitl.route.${issue}`);
  });

  it.each(['ftp://x', 'approvals.test', ''])('a webhook at %j', (url) => {
    expect(issuesOf(WEBHOOK.replace('https://approvals.test/ask', url))).toEqual([
      'a.toml:8: hitl.route.url is not a web address. Use an address that starts with http:// or https://.',
    ]);
  });
});

describe('configuration of approvals: its summary', () => {
  const rowsOf = (text: string): readonly string[] =>
    summarize(loadTexts([text]))
      .split('\n')
      .filter((line) => /^  (rule|appr|decided|sign)/.test(line));

  it('shows the rules in their order, the route and what an approver may do', () => {
    const text = `${WEBHOOK.replace('https://', 'https://user:password1@')}timeout_secs = 5
headers = { authorization = "Bearer secretvalue" }
[hitl]
require_approval = ["delete_*"]
reminder_secs = 2
pause_total = true
allow_argument_edits = true
allow_session_grants = true
[[hitl.rules]]
tools = ["write_*", "move"]
when = [{ pointer = "/path", op = "matches", value = "^/etc/" }, { pointer = "/n", op = "in", value = [1, 2] }]
effect = "deny"
[[hitl.rules]]
tools = ["read_*"]
effect = "approve"`;
    expect(rowsOf(text)).toEqual([
      '  signatures  none',
      '  rule        deny "write_*", "move" when "/path" matches "^/etc/" and "/n" in [1,2]',
      '  rule        approve "read_*"',
      '  approval    "delete_*", what a rule says; webhook at https://approvals.test, 5 s, reminder each 2 s, the total stands still',
      '  approver    may edit arguments and approve for the session',
    ]);
  });

  it('says when nobody is asked, and when the agent alone asks', () => {
    expect(rowsOf(MINIMAL)).toEqual(['  approval    none asked']);
    expect(rowsOf(`${MINIMAL}[hitl.route]\nmode = "conversational"`)).toEqual([
      '  approval    only when the agent asks; conversational, 60 s',
    ]);
  });
});
