import { inspect } from 'node:util';
import { REDACTED } from '../log.ts';
import type { AuthKeyConfig } from '../auth.ts';
import type { AgentConfig, Config, HitlConfig, WebhookSigning } from './config.ts';

/**
 * Freezes a configuration to its last leaf and makes it print without its secrets: API keys,
 * header values, environment values, arguments of commands, hashes of keys, secrets of signatures
 * and what a URL carries beside its address. Reading a field still gives the real value.
 */
export function sealed(config: Config): Config {
  for (const key of config.auth?.keys ?? []) hide(key, hiddenKey);
  if (config.webhookSigning !== undefined) hide(config.webhookSigning, hiddenSigning);
  for (const agent of config.agents) {
    hide(agent.llm, hiddenLlm);
    if (agent.hitl !== undefined) hide(agent.hitl.route, hiddenRoute);
    for (const server of agent.mcp.servers) hide(server, hiddenServer);
  }
  return deepFreeze(config);
}

/** Both printers ask the object itself, and neither counts as one of its fields. */
function hide<T extends object>(target: T, shown: (target: T) => object): void {
  const value = (): object => shown(target);
  Object.defineProperty(target, 'toJSON', { value });
  Object.defineProperty(target, inspect.custom, { value });
}

const hiddenKey = (key: AuthKeyConfig): object => ({ ...key, hash: REDACTED });

const hiddenSigning = (signing: WebhookSigning): object => ({
  ...signing,
  secret: REDACTED,
  ...(signing.secondary === undefined ? {} : { secondary: REDACTED }),
});

function hiddenRoute(route: HitlConfig['route']): object {
  if (route.mode !== 'webhook') return { ...route };
  return { ...route, url: originOf(route.url), headers: masked(route.headers) };
}

type Server = AgentConfig['mcp']['servers'][number];

function hiddenLlm(llm: AgentConfig['llm']): object {
  if (llm.provider === 'scripted') return { ...llm };
  const { baseUrl, additionalParams, ...rest } = llm;
  return {
    ...rest,
    apiKey: REDACTED,
    ...(baseUrl === undefined ? {} : { baseUrl: plainUrl(baseUrl) }),
    ...(additionalParams === undefined ? {} : { additionalParams: masked(additionalParams) }),
  };
}

function hiddenServer(server: Server): object {
  if (server.transport !== 'stdio') {
    return { ...server, url: plainUrl(server.url), headers: masked(server.headers) };
  }
  const [program = '', ...rest] = server.cmd;
  return {
    ...server,
    cmd: [program, ...rest.map(() => REDACTED)],
    args: server.args.map(() => REDACTED),
    env: masked(server.env),
  };
}

const masked = (map: object): Record<string, string> =>
  Object.fromEntries(Object.keys(map).map((key) => [key, REDACTED]));

/** Scheme, host, port and path; a user name, a password and a query are left out. */
export function plainUrl(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? REDACTED : `${parsed.origin}${parsed.pathname}`;
}

/** Scheme, host and port: the path of a webhook is often what proves the right to call it. */
export const originOf = (url: string): string => URL.parse(url)?.origin ?? REDACTED;

/** Every value that no log line may show, for {@link createLog}. */
export function secretsOf({ agents, auth, webhookSigning }: Config): readonly string[] {
  const found = agents.flatMap((agent) => [
    ...(agent.llm.provider === 'openai'
      ? [agent.llm.apiKey, ...urlSecrets(agent.llm.baseUrl)]
      : []),
    ...agent.mcp.servers.flatMap(serverSecrets),
    ...(agent.hitl?.route.mode === 'webhook' ? remoteSecrets(agent.hitl.route) : []),
  ]);
  // A hash gives a key away to whoever guesses it, should somebody have chosen a short one.
  const hashes = auth?.keys.map(({ hash }) => hash) ?? [];
  const { secret, secondary } = webhookSigning ?? {};
  const signing = [secret, secondary].filter((value) => value !== undefined);
  return [...new Set([...found, ...hashes, ...signing])];
}

const SECRET_NAME = /key|token|secret|passw|auth|credential/i;

function serverSecrets(server: Server): string[] {
  if (server.transport === 'stdio') {
    const named = Object.entries(server.env).filter(([name]) => SECRET_NAME.test(name));
    return named.map(([, value]) => value);
  }
  return remoteSecrets(server);
}

interface Remote {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

function remoteSecrets({ url, headers }: Remote): string[] {
  // "Bearer abc" may turn up whole or as what follows the scheme.
  const values = Object.values(headers);
  return [...values, ...values.flatMap((value) => value.split(' ').slice(1)), ...urlSecrets(url)];
}

function urlSecrets(url: string | undefined): string[] {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed === null) return [];
  // A name alone is a token as a rule; beside a password it is a name, and may be any word.
  const user = parsed.password === '' ? parsed.username : parsed.password;
  const found = [user, decoded(user), ...parsed.searchParams.values()];
  return found.filter((value) => value !== '');
}

/** A header carries it as it was meant, a URL with escapes. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
  return value;
}
