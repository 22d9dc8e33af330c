import { createRedactor } from '../redact-secrets.ts';
import type { McpServerConfig } from './server-config.ts';

/** Replaces every secret of one connection in a text that may leave the process. */
export type Redact = (text: string) => string;

/** Shorter values are too common in ordinary text to be hidden without hiding the text. */
const SECRET_CHARS_MIN = 4;

/** Environment values that name ordinary things are not worth hiding, nor are these words. */
const COMMON = new Set(['true', 'false', 'null', 'info', 'debug', 'warn', 'error', 'production']);

/**
 * Makes the redactor of one connection: header values (with and without their scheme word),
 * environment values, and the user name, password and query values of the URL.
 */
export function redactorOf(
  config: McpServerConfig,
  headers: Readonly<Record<string, string>>,
): Redact {
  const secrets = [...new Set(secretsOf(config, headers))]
    .filter(isWorthHiding)
    .sort((a, b) => b.length - a.length);
  if (secrets.length === 0) return (text) => text;
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text);
}

/** Makes the redactor of one call: the values of the headers that it alone carries. */
export function callRedactorOf(headers: Readonly<Record<string, string>> = {}): Redact {
  const values = Object.values(headers);
  const secrets = [...values, ...values.map(withoutScheme)].filter(isWorthHiding);
  return createRedactor(secrets, { charsMin: SECRET_CHARS_MIN });
}

const isWorthHiding = (value: string): boolean =>
  value.length >= SECRET_CHARS_MIN && !COMMON.has(value.toLowerCase());

function secretsOf(
  config: McpServerConfig,
  headers: Readonly<Record<string, string>>,
): readonly string[] {
  if (config.transport === 'stdio') return Object.values(config.env);
  const values = Object.values(headers);
  return [...values, ...values.map(withoutScheme), ...secretsOfUrl(config.url)];
}

const withoutScheme = (value: string): string => value.replace(/^\S+\s+/, '');

function secretsOfUrl(url: string): readonly string[] {
  const parsed = URL.parse(url);
  if (parsed === null) return [];
  const userinfo = [parsed.username, parsed.password];
  return [...userinfo, ...userinfo.map((part) => decoded(part)), ...parsed.searchParams.values()];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
