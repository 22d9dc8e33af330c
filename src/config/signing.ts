import type { PlacedAgent } from './build.ts';
import type { WebhookSigning } from './config.ts';
import { DEFAULTS } from './defaults.ts';
import { quoted } from './document.ts';
import { variable } from './environment.ts';
import { type ConfigIssue, formatPath } from './issue.ts';
import { nearest } from '../nearest.ts';
import { WEBHOOK_SECRET_BYTES_MIN, WEBHOOK_TOLERANCE_SECS } from './ranges.ts';
import type { Environment } from './templates.ts';
import { integer, type Reading } from './values.ts';

const SECRET = 'AURA_HITL_WEBHOOK_SECRET';
const SECONDARY = 'AURA_HITL_WEBHOOK_SECRET_SECONDARY';
const TOLERANCE = 'AURA_HITL_WEBHOOK_TOLERANCE_SECS';

const PREFIX = 'AURA_HITL_';
/** They are in no file, and no flag shows a secret to whoever lists processes. */
const VARIABLES: readonly string[] = [SECRET, SECONDARY, TOLERANCE];

const MS_PER_SECOND = 1_000;

export interface SigningReading {
  /** Undefined: nothing is signed, or there are issues. */
  readonly signing: WebhookSigning | undefined;
  readonly issues: readonly ConfigIssue[];
}

/**
 * How webhooks and decisions are signed. A secret that is set to nothing is refused, unlike any other
 * variable: taken for unset it would switch off what somebody meant to switch on.
 */
export function readSigning(env: Environment): SigningReading {
  const { [SECRET]: secret, [SECONDARY]: secondary } = env;
  const tolerance = readTolerance(env);
  const issues = [
    ...secretIssues(SECRET, secret),
    ...secretIssues(SECONDARY, secondary),
    ...(secret === undefined && secondary !== undefined ? [LONELY] : []),
    ...(tolerance.ok
      ? []
      : [toIssue(TOLERANCE, tolerance.problem + quoted(env[TOLERANCE]), tolerance.suggestion)]),
  ];
  if (issues.length > 0 || secret === undefined || !tolerance.ok)
    return { signing: undefined, issues };
  const toleranceMs = tolerance.value * MS_PER_SECOND;
  const other = secondary === undefined ? {} : { secondary };
  return { signing: { secret, ...other, toleranceMs }, issues };
}

const readTolerance = (env: Environment): Reading<number> =>
  integer({ ...WEBHOOK_TOLERANCE_SECS, note: 'in seconds' })(
    variable(env, TOLERANCE) ?? DEFAULTS.webhookToleranceSecs,
  );

function secretIssues(key: string, secret: string | undefined): ConfigIssue[] {
  if (secret === undefined || Buffer.byteLength(secret) >= WEBHOOK_SECRET_BYTES_MIN) return [];
  const problem = secret === '' ? 'is empty' : `is shorter than ${WEBHOOK_SECRET_BYTES_MIN} bytes`;
  return [toIssue(key, problem, 'Set it to what "openssl rand -hex 32" prints, or unset it.')];
}

const toIssue = (key: string, problem: string, suggestion: string): ConfigIssue => ({
  source: 'environment',
  key,
  problem,
  suggestion,
});

const LONELY = toIssue(
  SECONDARY,
  `is set without ${SECRET}`,
  `It is accepted beside that one while secrets change. Set ${SECRET} too, or unset it.`,
);

/** Misspelt variables, and a tolerance for signatures that nobody makes or asks for. */
export function oddSigning(env: Environment): readonly ConfigIssue[] {
  const stray = Object.keys(env).filter(
    (key) => key.startsWith(PREFIX) && !VARIABLES.includes(key),
  );
  const warnings = stray.map((key) => {
    const close = nearest(key, VARIABLES);
    const suggestion = close === undefined ? 'It has no effect.' : `Did you mean ${close}?`;
    return toIssue(key, 'is not a known variable', suggestion);
  });
  if (variable(env, TOLERANCE) === undefined || env[SECRET] !== undefined) return warnings;
  // One that cannot be read is refused, and that is enough to say of it.
  if (!readTolerance(env).ok) return warnings;
  const idle = toIssue(TOLERANCE, 'has no effect: nothing is signed', `Set ${SECRET} or unset it.`);
  return [...warnings, idle];
}

/** A signature that anybody on the way may read is not worth its secret; loopback is no exception. */
export function plainWebhooks(
  env: Environment,
  placed: readonly PlacedAgent[],
): readonly ConfigIssue[] {
  const secret = env[SECRET];
  // Whoever has to set or unset the secret first may not need another address.
  if (secret === undefined || secretIssues(SECRET, secret).length > 0) return [];
  return placed.flatMap(({ agent, document }) => {
    const route = agent.hitl?.route;
    if (route?.mode !== 'webhook' || URL.parse(route.url)?.protocol === 'https:') return [];
    const path = ['hitl', 'route', 'url'];
    const line = document.lineOf(path);
    return [
      {
        source: document.file,
        ...(line === undefined ? {} : { line }),
        key: formatPath(path),
        problem: `is not encrypted, while ${SECRET} is set`,
        suggestion: `Use an address that starts with https://, or unset ${SECRET}.`,
      },
    ];
  });
}
