import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { summarize } from '../../src/cli/summary.ts';
import { secretsOf } from '../../src/config/redact.ts';
import type { Environment } from '../../src/config/templates.ts';
import { createRedactor } from '../../src/redact-secrets.ts';
import { configOf, issuesOf, loadTexts, MINIMAL, warningsOf } from '../support/config-kit.ts';

const SECRET = 'primary-secret-of-thirty-two-bytes';
const SECONDARY = 'secondary-secret-of-thirty-two-byt';
const SIGNED = { AURA_HITL_WEBHOOK_SECRET: SECRET };

const WEBHOOK = `${MINIMAL}[hitl.route]
mode = "webhook"
url = "https://approvals.test/ask"
`;

const remedy = 'Set it to what "openssl rand -hex 32" prints, or unset it.';

describe('configuration of signatures', () => {
  it('is absent while no secret is set', () => {
    expect(configOf(WEBHOOK)).not.toHaveProperty('webhookSigning');
  });

  it('comes from the environment alone', () => {
    expect(configOf(MINIMAL, { env: SIGNED }).webhookSigning).toEqual({
      secret: SECRET,
      toleranceMs: 300_000,
    });
    const env = {
      ...SIGNED,
      AURA_HITL_WEBHOOK_SECRET_SECONDARY: SECONDARY,
      AURA_HITL_WEBHOOK_TOLERANCE_SECS: '86400',
    };
    expect(configOf(MINIMAL, { env }).webhookSigning).toEqual({
      secret: SECRET,
      secondary: SECONDARY,
      toleranceMs: 86_400_000,
    });
  });

  it('counts the bytes of a secret, not its letters', () => {
    const told = (secret: string) =>
      issuesOf(MINIMAL, { env: { AURA_HITL_WEBHOOK_SECRET: secret } });
    expect(told('é'.repeat(16))).toEqual([]);
    expect(told('x'.repeat(32))).toEqual([]);
    expect(told('x'.repeat(31))).toHaveLength(1);
  });

  it.each<readonly [Environment, string]>([
    [{ AURA_HITL_WEBHOOK_SECRET: '' }, `AURA_HITL_WEBHOOK_SECRET is empty. ${remedy}`],
    [
      { AURA_HITL_WEBHOOK_SECRET: 'short' },
      `AURA_HITL_WEBHOOK_SECRET is shorter than 32 bytes. ${remedy}`,
    ],
    [
      { ...SIGNED, AURA_HITL_WEBHOOK_SECRET_SECONDARY: '' },
      `AURA_HITL_WEBHOOK_SECRET_SECONDARY is empty. ${remedy}`,
    ],
    [
      { ...SIGNED, AURA_HITL_WEBHOOK_SECRET_SECONDARY: 'short' },
      `AURA_HITL_WEBHOOK_SECRET_SECONDARY is shorter than 32 bytes. ${remedy}`,
    ],
    [
      { AURA_HITL_WEBHOOK_SECRET_SECONDARY: SECONDARY },
      'AURA_HITL_WEBHOOK_SECRET_SECONDARY is set without AURA_HITL_WEBHOOK_SECRET. It is accepted beside that one while secrets change. Set AURA_HITL_WEBHOOK_SECRET too, or unset it.',
    ],
    ...['0', '86401', '1.5'].map(
      (secs) =>
        [
          { ...SIGNED, AURA_HITL_WEBHOOK_TOLERANCE_SECS: secs },
          `AURA_HITL_WEBHOOK_TOLERANCE_SECS is ${secs === '1.5' ? 'not a whole number' : 'out of range'}: "${secs}". Use a whole number from 1 to 86400; in seconds.`,
        ] as const,
    ),
  ])('refuses %j', (env, issue) => {
    expect(issuesOf(MINIMAL, { env })).toEqual([`environment: ${issue}`]);
  });

  it('refuses to send a signature where everybody can read it, loopback included', () => {
    for (const host of ['approvals.test', '127.0.0.1:9', 'localhost']) {
      const text = WEBHOOK.replace('https://approvals.test', `http://${host}`);
      expect(issuesOf(text)).toEqual([]);
      expect(issuesOf(text, { env: SIGNED })).toEqual([
        'a.toml:8: hitl.route.url is not encrypted, while AURA_HITL_WEBHOOK_SECRET is set. Use an address that starts with https://, or unset AURA_HITL_WEBHOOK_SECRET.',
      ]);
    }
    expect(issuesOf(WEBHOOK, { env: SIGNED })).toEqual([]);
    expect(issuesOf(WEBHOOK.replace('https', 'HTTPS'), { env: SIGNED })).toEqual([]);
  });

  it.each(['', 'short'])(
    'says of the secret %j nothing but that, also with an open address',
    (secret) => {
      const env = { AURA_HITL_WEBHOOK_SECRET: secret };
      const told = issuesOf(WEBHOOK.replace('https', 'http'), { env });
      expect(told).toEqual([expect.stringContaining('environment: AURA_HITL_WEBHOOK_SECRET is ')]);
    },
  );

  it('says of a tolerance that cannot be read nothing but that', () => {
    const env = { AURA_HITL_WEBHOOK_TOLERANCE_SECS: 'soon' };
    const load = () => loadTexts([MINIMAL], { env });
    expect(load).toThrow(expect.objectContaining({ issues: [expect.anything()], warnings: [] }));
  });

  it('warns of variables that sign nothing', () => {
    const env = { AURA_HITL_WEBHOOK_SECRETS: SECRET, AURA_HITL_WEBHOOK_TOLERANCE_SECS: '5' };
    expect(warningsOf(MINIMAL, { env })).toEqual([
      'environment: AURA_HITL_WEBHOOK_SECRETS is not a known variable. Did you mean AURA_HITL_WEBHOOK_SECRET?',
      'environment: AURA_HITL_WEBHOOK_TOLERANCE_SECS has no effect: nothing is signed. Set AURA_HITL_WEBHOOK_SECRET or unset it.',
    ]);
    expect(warningsOf(MINIMAL, { env: SIGNED })).toEqual([]);
  });
});

describe('configuration of approvals: what is only warned of', () => {
  it('names a webhook that is asked without a signature', () => {
    expect(warningsOf(WEBHOOK)).toEqual([
      'a.toml:8: hitl.route.url is asked without a signature and believed without one. Set AURA_HITL_WEBHOOK_SECRET.',
    ]);
    expect(warningsOf(WEBHOOK, { env: SIGNED })).toEqual([]);
  });

  it('names headers that Runwarden sets itself', () => {
    const text = `${WEBHOOK}[hitl.route.headers]
Content-Type = "text/plain"
accept = "a/b"
[hitl.route.headers_from_request]
Accept = "accept"`;
    const rest = 'has no effect: Runwarden sets that header itself. Leave it out.';
    expect(warningsOf(text, { env: SIGNED })).toEqual([
      `a.toml:10: hitl.route.headers.Content-Type ${rest}`,
      `a.toml:11: hitl.route.headers.accept ${rest}`,
      `a.toml:13: hitl.route.headers_from_request.Accept ${rest}`,
    ]);
  });

  it('names a credential that a caller may replace, and no other header', () => {
    const told = (fixed: string, passedOn: string) =>
      warningsOf(
        `${WEBHOOK}headers = { ${fixed} = "x" }\nheaders_from_request = { ${passedOn} = "x-of-caller" }`,
        { env: SIGNED },
      );
    for (const name of ['authorization', 'Cookie', 'X-Api-Key', 'x-hook-token']) {
      expect(told(name.toLowerCase(), name)).toEqual([
        `a.toml:10: hitl.route.headers_from_request.${name} lets a caller replace the credential that hitl.route.headers gives. Remove it here, unless callers are to bring their own; or remove it there.`,
      ]);
    }
    expect(told('authorization', 'cookie')).toEqual([]);
    expect(told('x-team', 'X-Team')).toEqual([]);
  });

  it('names an approval that outlives its run, unless the total pauses or is off', () => {
    const text = `${WEBHOOK}timeout_secs = 2592000\n`;
    const told = (more: string, secs = '900') =>
      warningsOf(text + more, { env: { ...SIGNED, RUNWARDEN_TOTAL_SECS: secs } });
    expect(told('')).toEqual([
      'a.toml:9: hitl.route.timeout_secs is not below the total of a run (900 s), which ends first. Lower it, raise the total, or set hitl.pause_total = true.',
    ]);
    expect(told('[hitl]\npause_total = true')).toEqual([]);
    expect(told('', '0')).toEqual([]);
  });

  it('names reminders that come after the end', () => {
    const told = (secs: number) =>
      warningsOf(`${WEBHOOK}[hitl]\nreminder_secs = ${secs}`, { env: SIGNED });
    expect(told(300)).toEqual([
      'a.toml:10: hitl.reminder_secs is never reached: an approval ends after 300 s. Lower it or raise hitl.route.timeout_secs.',
    ]);
    expect(told(299)).toEqual([]);
    expect(told(0)).toEqual([]);
  });

  it('names rules that earlier ones leave nothing to', () => {
    const rule = (tools: string, when = ''): string =>
      `[[hitl.rules]]\ntools = [${tools}]\neffect = "deny"\n${when}\n`;
    const told = (...rules: readonly string[]) =>
      warningsOf(`${WEBHOOK}${rules.join('')}`, { env: SIGNED });
    const when = 'when = [{ pointer = "/a", op = "eq", value = 1 }]';
    expect(told(rule('"*"'), rule('"a"'))).toEqual([
      'a.toml:13: hitl.rules[1] has no effect: rules before it decide for all of its tools. Move it up or remove it.',
    ]);
    expect(told(rule('"a", "b"'), rule('"b"'))).toHaveLength(1);
    expect(told(rule('"a"'), rule('"a", "b"'))).toEqual([]);
    expect(told(rule('"*"', when), rule('"a"'))).toEqual([]);
  });
});

describe('configuration of approvals: its secrets', () => {
  const text = `${MINIMAL}[hitl.route]
mode = "webhook"
url = "https://someone:hunter2%40pw@approvals.test/hook/capability?key=secretquery"
headers = { Authorization = "Bearer secretheader", X-Other = "secretother" }
`;
  const env = { ...SIGNED, AURA_HITL_WEBHOOK_SECRET_SECONDARY: SECONDARY };
  const secrets = [
    SECRET,
    SECONDARY,
    'hunter2',
    'capability',
    'secretquery',
    'secretheader',
    'secretother',
  ];

  it('are in no print of it and still there to be used', () => {
    const loaded = loadTexts([text], { env });
    const prints = [
      JSON.stringify(loaded.config),
      inspect(loaded.config, { depth: 20 }),
      summarize(loaded),
    ];
    for (const print of prints) for (const secret of secrets) expect(print).not.toContain(secret);
    expect(prints[0]).toContain('"url":"https://approvals.test"');
    expect(loaded.config.webhookSigning).toMatchObject({ secret: SECRET, secondary: SECONDARY });
    expect(loaded.config.agents[0]?.hitl?.route).toMatchObject({
      url: 'https://someone:hunter2%40pw@approvals.test/hook/capability?key=secretquery',
      headers: { authorization: 'Bearer secretheader' },
    });
  });

  it('are given to whoever keeps secrets out of logs', () => {
    const found = secretsOf(configOf(text, { env }));
    const redact = createRedactor(found);
    const basic = Buffer.from('someone:hunter2@pw').toString('base64');
    for (const said of [
      SECRET,
      SECONDARY,
      'hunter2%40pw',
      'hunter2@pw',
      'secretquery',
      'secretheader',
      'secretother',
    ]) {
      expect(redact(`a ${said} b`)).toBe('a [redacted] b');
    }
    expect(redact(basic)).toContain('[redacted]');
    expect(found).not.toContain('someone');
  });

  it('take a user without a password for one', () => {
    const alone = text.replace('someone:hunter2%40pw@', 'token-in-front@');
    expect(secretsOf(configOf(alone, { env }))).toContain('token-in-front');
  });
});

describe('configuration of who decides', () => {
  it('takes the name of a header from the file or the environment, in lower case', () => {
    const text = `${MINIMAL}[runtime]\ndecider_header = "X-Forwarded-User"`;
    const env = { RUNWARDEN_DECIDER_HEADER: 'X-Remote-User' };
    expect(configOf(MINIMAL).server).not.toHaveProperty('deciderHeader');
    expect(configOf(text).server.deciderHeader).toBe('x-forwarded-user');
    expect(configOf(text, { env }).server.deciderHeader).toBe('x-remote-user');
    expect(summarize(loadTexts([text]))).toContain(
      '\n  decided by  who the header "x-forwarded-user" names\n',
    );
  });

  it.each(['Authorization', 'Cookie', 'proxy-authorization'])(
    'refuses %s, which holds secrets',
    (name) => {
      expect(issuesOf(`${MINIMAL}[runtime]\ndecider_header = "${name}"`)).toEqual([
        `a.toml:7: runtime.decider_header is a header of credentials: "${name}". Name the header in which your proxy says who calls: "x-forwarded-user".`,
      ]);
    },
  );

  it.each(['a b', 'a:', ' '])('refuses %j, which is no name of a header', (name) => {
    expect(issuesOf(MINIMAL, { env: { RUNWARDEN_DECIDER_HEADER: name } })).toEqual([
      'environment: RUNWARDEN_DECIDER_HEADER is not the name of a header. Use letters, digits and "-" in the names of headers.',
    ]);
  });
});
