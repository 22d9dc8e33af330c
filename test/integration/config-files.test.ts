import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { loadConfig, type LoadOptions } from '../../src/config/load.ts';
import { keyText, MINIMAL, NOW_MS } from '../support/config-kit.ts';

let cwd = '';

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'runwarden-config-'));
});

afterEach(() => {
  rmSync(cwd, { recursive: true });
});

const write = (name: string, content: string | Uint8Array): void =>
  writeFileSync(join(cwd, name), content);

const load = (told: Partial<LoadOptions> = {}): Config =>
  loadConfig({ flags: {}, env: {}, cwd, nowMs: NOW_MS, ...told }).config;

function messageOf(call: () => unknown): string {
  try {
    call();
    return '';
  } catch (error) {
    return String(error);
  }
}

const agent = (name: string): string => MINIMAL.replace('"a"', `"${name}"`);

describe('configuration files', () => {
  it('reads config.toml of the working directory when nobody names another', () => {
    write('config.toml', agent('plain'));
    expect(load().agents[0]?.id).toBe('plain');
  });

  it('takes the flag before CONFIG_PATH', () => {
    write('one.toml', agent('one'));
    write('two.toml', agent('two'));
    const env = { CONFIG_PATH: 'one.toml' };
    expect(load({ env }).agents[0]?.id).toBe('one');
    expect(load({ env, flags: { config: join(cwd, 'two.toml') } }).agents[0]?.id).toBe('two');
  });

  it('reads the TOML files of a directory by name and passes over the rest', () => {
    mkdirSync(join(cwd, 'agents'));
    for (const name of ['b', 'a', 'c']) write(`agents/${name}.toml`, agent(name));
    write('agents/notes.txt', 'not TOML');
    expect(load({ flags: { config: 'agents' } }).agents.map(({ id }) => id)).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('names the file of a directory in an error', () => {
    mkdirSync(join(cwd, 'agents'));
    write('agents/a.toml', '[agent]\nnam = 1');
    expect(() => load({ flags: { config: 'agents' } })).toThrow('agents/a.toml:2: agent.nam ');
  });

  it.each([
    [
      'missing.toml',
      'missing.toml: does not exist. Name a file or a directory with --config or CONFIG_PATH.',
    ],
    ['empty', 'empty: holds no *.toml file. Put one file for each agent into it.'],
    ['latin1.toml', 'latin1.toml: is not UTF-8 text. Save it as UTF-8.'],
  ])('refuses %s', (config, message) => {
    mkdirSync(join(cwd, 'empty'));
    write('latin1.toml', new Uint8Array([0x23, 0xe9, 0x0a]));
    expect(() => load({ flags: { config } })).toThrow(message);
  });

  it('passes over a byte order mark', () => {
    write('config.toml', `\uFEFF${MINIMAL}`);
    expect(load().agents).toHaveLength(1);
  });

  it('reads .env under the real environment', () => {
    write('.env', 'PORT=1111\nHOST="127.0.0.2"\nPROMPT=\'from the file\'\n');
    write('config.toml', MINIMAL.replace('Be kind.', '{{ env.PROMPT }}'));
    const config = load({ env: { PORT: '2222' } });
    expect(config.server).toMatchObject({ port: 2222, host: '127.0.0.2' });
    expect(config.agents[0]?.systemPrompt).toBe('from the file');
  });

  it.skipIf(spawnSync('sha256sum', ['--version']).status !== 0)(
    'accepts the hash that its own advice makes of a key',
    () => {
      const key = 'rw-0123456789abcdef "$x';
      write('config.toml', MINIMAL + keyText({ hash: 'none' }));
      const [, command = ''] = /prints: (.*) \(your key in KEY\)\.$/.exec(messageOf(load)) ?? [];
      const made = spawnSync('sh', ['-c', command], { env: { ...process.env, KEY: key } });
      const digits = made.stdout.toString().slice(0, 64);
      write('config.toml', MINIMAL + keyText({ hash: `sha256:${digits}` }));
      const digest = createHash('sha256').update(key).digest('hex');
      expect(load().auth?.keys[0]?.hash).toBe(digest);
    },
  );

  it('leaves a directory called .env alone', () => {
    mkdirSync(join(cwd, '.env'));
    write('config.toml', MINIMAL);
    expect(load().server.port).toBe(8080);
  });

  it('puts a relative data directory into the working directory', () => {
    write('config.toml', MINIMAL);
    expect(load({ flags: { 'data-dir': 'data' } }).server.dataDir).toBe(join(cwd, 'data'));
  });
});
