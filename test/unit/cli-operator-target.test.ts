import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { targetOf } from '../../src/cli/client/target.ts';
import type { CliFlags } from '../../src/cli/flags.ts';
import { operatorWorld, page, refusal, type Answering } from './cli-operator-kit.ts';

/** Hazard: a key that is printed, or sent where a file or a stranger says. */

const KEY = 'rw-0123456789abcdef0123456789abcdef';

let cwd = '';

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'runwarden-keys-'));
  writeFileSync(join(cwd, 'key'), `${KEY}\n`);
  writeFileSync(join(cwd, 'empty'), '\n');
  writeFileSync(join(cwd, 'two'), `${KEY}\n${KEY}\n`);
  writeFileSync(join(cwd, '.env'), `RUNWARDEN_URL=http://evil.test\nRUNWARDEN_API_KEY=${KEY}\n`);
  mkdirSync(join(cwd, 'folder'));
});

afterAll(() => rmSync(cwd, { recursive: true }));

const target = (flags: CliFlags, env: Record<string, string> = {}) => targetOf(flags, { env, cwd });

describe('the address of the server', () => {
  it.each([
    [{}, {}, 'http://127.0.0.1:8080'],
    [{}, { RUNWARDEN_URL: 'https://run.test/' }, 'https://run.test'],
    [{}, { RUNWARDEN_URL: '' }, 'http://127.0.0.1:8080'],
    [{ url: 'http://a.test' }, { RUNWARDEN_URL: 'http://b.test' }, 'http://a.test'],
    [{ url: 'http://a.test/warden//' }, {}, 'http://a.test/warden'],
    [{ url: 'http://a.test/v1/' }, {}, 'http://a.test'],
  ])('is for %j with %j: %s', (flags, env, base) => {
    expect(target(flags, env).base).toBe(base);
  });

  it.each([
    ['nonsense', '--url is not an http or https address'],
    ['ftp://a.test', '--url is not an http or https address'],
    ['http://user:hunter2@a.test', '--url holds a user name or password'],
    ['http://a.test/?key=hunter2', '--url holds a query or fragment'],
  ])('is refused when it is %s, without being shown', (url, message) => {
    expect(() => target({ url })).toThrow(message);
    expect(() => target({ url })).not.toThrow('hunter2');
  });

  it('says which of both is wrong', () => {
    expect(() => target({}, { RUNWARDEN_URL: 'x' })).toThrow('RUNWARDEN_URL is not');
  });

  it('is never taken from a .env of the folder, nor is the key', () => {
    expect(target({})).toEqual({ base: 'http://127.0.0.1:8080', key: undefined });
  });
});

describe('the key', () => {
  it('comes from the file before the environment, without its line end', () => {
    expect(target({ 'api-key-file': 'key' }, { RUNWARDEN_API_KEY: 'other' }).key).toBe(KEY);
    expect(target({}, { RUNWARDEN_API_KEY: KEY }).key).toBe(KEY);
  });

  it.each([
    ['none', 'The key file none cannot be read (ENOENT)'],
    ['folder', 'The key file folder cannot be read (EISDIR)'],
    ['empty', 'The key file empty is empty'],
    ['two', 'The key file two holds more than one key'],
  ])('is refused from a file that is %s, without being shown', (file, message) => {
    expect(() => target({ 'api-key-file': file })).toThrow(message);
    expect(() => target({ 'api-key-file': file })).not.toThrow(KEY);
  });

  it.runIf(process.platform === 'linux')(
    'is read from a device without an end as far as a key goes',
    () => {
      expect(() => target({ 'api-key-file': '/dev/zero' })).toThrow('holds more than one key');
    },
  );

  it.each([[['--api-key', KEY]], [[`--api-key=${KEY}`]], [['--api-key']]])(
    'is refused on the command line as %j and not shown',
    async (argv) => {
      const world = operatorWorld(() => page([]));
      expect(await world.run('runs', 'ls', ...argv)).toBe(2);
      expect(world.err()).toContain('--api-key-file');
      expect(world.err()).not.toContain(KEY);
      expect(world.requests).toEqual([]);
    },
  );

  it('is sent as a bearer token and never printed', async () => {
    const answer: Answering = ({ headers }) =>
      refusal(400, { message: `I got ${headers.get('authorization')}`, code: 'chatty' });
    const world = operatorWorld(answer, { env: { RUNWARDEN_API_KEY: KEY } });
    expect(await world.run('runs', 'ls')).toBe(1);
    expect(world.requests[0]?.headers.get('authorization')).toBe(`Bearer ${KEY}`);
    expect(world.err()).toBe('error: I got Bearer [redacted] (chatty)\n');
  });

  it('does not follow a redirect', async () => {
    const elsewhere = new Response(null, {
      status: 307,
      headers: { location: 'http://evil.test/' },
    });
    const world = operatorWorld(() => elsewhere, { env: { RUNWARDEN_API_KEY: KEY } });
    expect(await world.run('runs', 'ls')).toBe(5);
    expect(world.requests).toHaveLength(1);
    expect(world.err()).toContain('sends us on to http://evil.test/');
  });
});
