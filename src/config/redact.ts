import { inspect } from 'node:util';
import { REDACTED } from '../log.ts';
import type { AuthKeyConfig } from '../auth.ts';
import type { AgentConfig, Config } from './config.ts';

/**
 * Freezes a configuration to its last leaf and makes it print without its secrets: API keys,
 * header values, environment values, arguments of commands, hashes of keys and what a URL carries
 * beside its address. Reading a field still gives the real value.
 */
export function sealed(config: Config): Config {
  for (const key of config.auth?.keys ?? []) hide(key, hiddenKey);
  for (const agent of config.agents) {
    hide(agent.llm, hiddenLlm);
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

/** Every value that no log line may show, for {@link createLog}. */
export function secretsOf({ agents, auth }: Config): readonly string[] {
  const found = agents.flatMap((agent) => [
    ...(agent.llm.provider === 'openai'
      ? [agent.llm.apiKey, ...urlSecrets(agent.llm.baseUrl)]
      : []),
    ...agent.mcp.servers.flatMap(serverSecrets),
  ]);
  // A hash gives a key away to whoever guesses it, should somebody have chosen a short one.
  const hashes = auth?.keys.map(({ hash }) => hash) ?? [];
  return [...new Set([...found, ...hashes])];
}

const SECRET_NAME = /key|token|secret|passw|auth|credential/i;

function serverSecrets(server: Server): string[] {
  if (server.transport === 'stdio') {
    const named = Object.entries(server.env).filter(([name]) => SECRET_NAME.test(name));
    return named.map(([, value]) => value);
  }
  // "Bearer abc" may turn up whole or as what follows the scheme.
  const values = Object.values(server.headers);
  return [
    ...values,
    ...values.flatMap((value) => value.split(' ').slice(1)),
    ...urlSecrets(server.url),
  ];
}

function urlSecrets(url: string | undefined): string[] {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed === null) return [];
  return [parsed.password, ...parsed.searchParams.values()].filter((value) => value !== '');
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
  return value;
}
