import type { Config } from '../../src/config/config.ts';
import type { ConfigSource } from '../../src/config/document.ts';
import { ConfigError, formatIssue } from '../../src/config/issue.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts';
import type { Flags } from '../../src/config/resolve.ts';
import type { Environment } from '../../src/config/templates.ts';

export interface Told {
  readonly env?: Environment;
  readonly flags?: Flags;
}

/** A directory that does not exist, so no `.env` of the machine is read. */
const NOWHERE = '/nonexistent/runwarden-tests';

export const NOW_MS = 1_700_000_000_000;

/** Loads texts as if they were files `a.toml`, `b.toml`, … of a directory. */
export function loadTexts(
  texts: readonly string[],
  { env = {}, flags = {} }: Told = {},
): LoadedConfig {
  const sources: ConfigSource[] = texts.map((text, at) => ({
    file: `${String.fromCharCode(97 + at)}.toml`,
    text,
  }));
  return loadConfig({ flags, env, cwd: NOWHERE, nowMs: NOW_MS, fallback: () => sources });
}

export const configOf = (text: string, told: Told = {}): Config => loadTexts([text], told).config;

/** Each issue as it is printed; none when the configuration is accepted. */
export function issuesOf(texts: string | readonly string[], told: Told = {}): readonly string[] {
  try {
    loadTexts(typeof texts === 'string' ? [texts] : texts, told);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(formatIssue);
  }
}

export const warningsOf = (texts: string | readonly string[], told: Told = {}): readonly string[] =>
  loadTexts(typeof texts === 'string' ? [texts] : texts, told).warnings.map(formatIssue);

/** The least that is accepted: five lines, so that what follows begins on line 6. */
export const MINIMAL = `[agent]
name = "a"
system_prompt = "Be kind."
[agent.llm]
provider = "scripted"
`;

export const OPENAI = `[agent]
name = "a"
system_prompt = "Be kind."
[agent.llm]
provider = "openai"
api_key = "sk-secret-key"
model = "gpt-5-mini"
`;

export interface KeyLines {
  readonly name?: string;
  readonly hash?: string;
  /** Further lines of the entry. */
  readonly more?: string;
}

/** An entry of `[auth]`: four lines, and what is asked for beside them. */
export const keyText = ({ name = 'ci', hash = HASH, more = '' }: KeyLines = {}): string =>
  `[[auth.keys]]
name = "${name}"
hash = "${hash}"
scopes = ["chat"]
${more}
`;

/** Of no key that anybody knows. */
export const HASH = `sha256:${'0123456789abcdef'.repeat(4)}`;
