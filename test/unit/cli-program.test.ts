import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/config/settings.ts';
import { createCliWorld } from '../support/cli-world.ts';

const world = () => createCliWorld({ cwd: '/nonexistent/runwarden-tests' });

describe('command line', () => {
  it.each([['--version'], ['-V']])('prints the version of the package with %s', async (flag) => {
    const cli = world();
    const manifest: unknown = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(await cli.run(flag)).toBe(0);
    expect(manifest).toHaveProperty('version', cli.out().trim());
  });

  it.each([['serve'], ['check-config'], ['demo']])(
    'knows every flag in %s and shows it in the help',
    async (command) => {
      const cli = world();
      expect(await cli.run(command, '--help')).toBe(0);
      for (const { flag, env } of Object.values(SETTINGS)) {
        if (flag !== undefined)
          expect(cli.out()).toMatch(new RegExp(`--${flag} .*|--${flag}$`, 'm'));
        if (flag !== undefined) expect(cli.out().replace(/\s+/g, ' ')).toContain(env[0]);
      }
      for (const flag of ['-c, --config', '-v, --verbose', '-d, --debug', '-p, --port']) {
        expect(cli.out()).toContain(flag);
      }
    },
  );

  it('says in the help what happens without a configuration', async () => {
    const notes = { serve: 'default: config.toml', demo: 'replaces the demo agents' };
    for (const [command, note] of Object.entries(notes)) {
      const cli = world();
      await cli.run(command, '--help');
      const help = cli.out().replace(/\s+/g, ' ');
      expect(help).toContain(`TOML file or directory of them (env: CONFIG_PATH, ${note})`);
    }
  });

  it.each([
    [['serve', '--prot', '1'], "unknown option '--prot'"],
    [['serev'], "unknown command 'serev'"],
    [['serve', '--port'], 'argument missing'],
    [['serve', 'extra'], 'too many arguments'],
  ])('refuses %j and starts nothing', async (argv, message) => {
    const cli = world();
    expect(await cli.run(...argv)).toBe(2);
    expect(cli.err()).toContain(message);
    expect(cli.started).toEqual([]);
  });

  it('refuses the flag of a part that is not built', async () => {
    const cli = world();
    expect(await cli.run('demo', '--enable-a2a')).toBe(1);
    expect(cli.err()).toContain('command line: --enable-a2a is not supported yet.');
  });

  it('shows how it is used when it is told nothing', async () => {
    const cli = world();
    expect(await cli.run()).toBe(2);
    expect(cli.err()).toContain('Usage: runwarden');
  });
});
