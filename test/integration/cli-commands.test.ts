import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCliWorld } from '../support/cli-world.ts';
import { MINIMAL, OPENAI } from '../support/config-kit.ts';

/** The commands in this process over real files, with a server by hand. */
let cwd = '';

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'runwarden-cli-'));
});

afterEach(() => {
  rmSync(cwd, { recursive: true });
});

const write = (name: string, text: string): void => writeFileSync(join(cwd, name), text);

/** Errors that Node's network gives, with what it says of where they came from. */
const systemError = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${syscall} ${code}`), { code, syscall });

describe('command check-config', () => {
  it('prints what the configuration comes to, without its secrets', async () => {
    write(
      'config.toml',
      `${OPENAI}base_url = "https://u:hunter2pw@llm.test/v1?k=secretquery"
[mcp.servers.web]
transport = "sse"
url = "https://mcp.test/sse?k=secreturl"
headers = { Authorization = "Bearer secretheader" }
[mcp.servers.files]
transport = "stdio"
cmd = ["/usr/bin/node", "--token=secretarg"]
[hitl]
require_approval = ["delete_*"]
route = { mode = "conversational" }`,
    );
    const world = createCliWorld({ cwd });
    expect(await world.run('check-config', '--port', '9999', '--default-agent', 'a')).toBe(0);
    expect(world.err()).toBe('');
    expect(world.out()).toContain('The configuration is valid: 1 agent from config.toml.');
    for (const part of [
      '127.0.0.1:9999',
      'agent a (default)',
      'openai/gpt-5-mini at https://llm.test/v1, key set',
      'web (sse, https://mcp.test)',
      'files (stdio, node)',
      '"delete_*"; conversational, 60 s',
      'inactivity off',
    ]) {
      expect(world.out()).toContain(part);
    }
    expect(world.out()).not.toMatch(/secret|hunter2/);
    expect(world.started).toEqual([]);
  });

  it('prints every error and warning on stderr and gives 1', async () => {
    write('config.toml', `${MINIMAL}[runtime]\nx = 1\n[other]\n`);
    const world = createCliWorld({ cwd, env: { PORT: 'x' } });
    expect(await world.run('check-config')).toBe(1);
    expect(world.out()).toBe('');
    expect(world.err().split('\n')).toEqual([
      expect.stringMatching(/^warning: config\.toml:8: other is an unknown table/),
      expect.stringMatching(/^environment: PORT is not a whole number/),
      expect.stringMatching(/^config\.toml:7: runtime\.x is not a known key/),
      'The configuration has 2 errors.',
      '',
    ]);
  });

  it('counts what there is one of as one', async () => {
    write('config.toml', MINIMAL.replace('"Be kind."', '"x"\nturn_depth = 1'));
    const world = createCliWorld({ cwd });
    await world.run('check-config');
    expect(world.out()).toContain('1 character, 1 turn\n');
  });

  it('leaves no data directory behind', async () => {
    write('config.toml', MINIMAL);
    await createCliWorld({ cwd }).run('check-config');
    expect(existsSync(join(cwd, '.runwarden'))).toBe(false);
  });
});

describe('command serve', () => {
  it('serves the configuration, with flags before all, and gives the exit code of the end', async () => {
    write('config.toml', MINIMAL);
    const world = createCliWorld({ cwd, env: { PORT: '1111', HOST: '127.0.0.9' } });
    world.stop(1);
    expect(
      await world.run('serve', '-p', '2222', '--aura-custom-events', '--tool-result-mode=hidden'),
    ).toBe(1);
    expect(world.started[0]?.server).toMatchObject({
      port: 2222,
      host: '127.0.0.9',
      customEvents: true,
      toolResultMode: 'hidden',
    });
    expect(existsSync(join(cwd, '.runwarden'))).toBe(true);
    expect(world.err()).toContain(
      '"msg":"Starting server on 127.0.0.9:2222 (shutdown_timeout=30s)"',
    );
  });

  it('gives 1 and starts nothing when the configuration is wrong', async () => {
    const world = createCliWorld({ cwd });
    expect(await world.run('serve')).toBe(1);
    expect(world.err()).toContain('config.toml: does not exist.');
    expect(world.err()).toContain('The configuration has 1 error; nothing was started.\n');
    expect(world.started).toEqual([]);
  });

  it.each([
    [
      'EADDRINUSE',
      'listen',
      'The address 127.0.0.1:8080 is already in use. Stop what uses it or choose another port with --port.\n',
    ],
    [
      'EACCES',
      'listen',
      'This user may not listen on 127.0.0.1:8080. Choose a port above 1023 with --port.\n',
    ],
    [
      'EADDRNOTAVAIL',
      'listen',
      'This machine has no address "127.0.0.1". Choose another with --host.\n',
    ],
    [
      'ENOTFOUND',
      'getaddrinfo',
      'This machine has no address "127.0.0.1". Choose another with --host.\n',
    ],
    ['EACCES', 'open', 'The server could not start: open EACCES\n'],
  ])('says in a sentence that it failed with %s of %s', async (code, syscall, sentence) => {
    write('config.toml', MINIMAL);
    const wrapped = new Error(`${syscall} ${code}`, { cause: systemError(code, syscall) });
    for (const error of [systemError(code, syscall), wrapped]) {
      const before = Promise.reject(error);
      before.catch(() => {});
      const world = createCliWorld({ cwd, before });
      expect(await world.run('serve')).toBe(1);
      expect(world.err().split('}\n').at(-1)).toBe(sentence);
    }
  });

  it.each([
    ['file', () => 'is a file, not a directory'],
    ['file/data', () => `cannot be made: ${join(cwd, 'file')} is a file, not a directory`],
    ['loose/data', () => `cannot be made at ${join(cwd, 'loose')} (EEXIST)`],
  ])('says why "%s" cannot be the data directory', async (dataDir, why) => {
    write('config.toml', MINIMAL);
    write('file', '');
    symlinkSync(join(cwd, 'nowhere'), join(cwd, 'loose'));
    const world = createCliWorld({ cwd });
    expect(await world.run('serve', '--data-dir', dataDir)).toBe(1);
    expect(world.err()).toBe(
      `The data directory ${join(cwd, dataDir)} ${why()}. Choose another with --data-dir or RUNWARDEN_DATA_DIR.\n`,
    );
    expect(world.started).toEqual([]);
  });

  it('makes no data directory for a journal in memory', async () => {
    write('config.toml', `${MINIMAL}[runtime.journal]\nstore = "memory"`);
    const world = createCliWorld({ cwd });
    world.stop(0);
    expect(await world.run('serve')).toBe(0);
    expect(existsSync(join(cwd, '.runwarden'))).toBe(false);
  });
});

/** The same signal within this time is the one before, told twice. */
const ECHO_MS = 1_000;

describe('signals of the process', () => {
  it('tells the server each of them, and lets go of them at the end', async () => {
    write('config.toml', MINIMAL);
    const world = createCliWorld({ cwd });
    const up = once(world.signals, 'started');
    const ended = world.run('serve');
    await up;
    await new Promise(setImmediate);
    world.signals.emit('SIGTERM');
    world.signals.emit('SIGINT');
    expect(world.told).toEqual(['SIGTERM', 'SIGINT']);
    world.advance(ECHO_MS);
    world.stop(130);
    expect(await ended).toBe(130);
    expect(world.signals.listenerCount('SIGINT') + world.signals.listenerCount('SIGTERM')).toBe(0);
  });

  it('takes one that comes twice at once for one, as npm passes it on, until it is meant', async () => {
    write('config.toml', MINIMAL);
    const world = createCliWorld({ cwd });
    const up = once(world.signals, 'started');
    const ended = world.run('serve');
    await up;
    await new Promise(setImmediate);
    world.signals.emit('SIGINT');
    world.advance(ECHO_MS - 1);
    world.signals.emit('SIGINT');
    expect(world.told).toEqual(['SIGINT']);
    world.advance(1);
    world.signals.emit('SIGINT');
    expect(world.told).toEqual(['SIGINT', 'SIGINT']);
    world.stop(130);
    expect(await ended).toBe(130);
  });

  it('still hears the echo of one that has done its work, so that it does no harm', async () => {
    write('config.toml', MINIMAL);
    const world = createCliWorld({ cwd });
    const up = once(world.signals, 'started');
    const ended = world.run('serve');
    await up;
    await new Promise(setImmediate);
    world.signals.emit('SIGINT');
    world.stop(0);
    expect(await ended).toBe(0);
    expect(world.signals.listenerCount('SIGINT')).toBe(1);
    expect(world.signals.listenerCount('SIGTERM')).toBe(0);
    world.signals.emit('SIGINT');
    expect(world.told).toEqual(['SIGINT']);
  });

  it('keeps one that comes while the server starts', async () => {
    write('config.toml', MINIMAL);
    const gate = Promise.withResolvers<void>();
    const world = createCliWorld({ cwd, before: gate.promise });
    const ended = world.run('serve');
    while (world.started.length === 0) await new Promise(setImmediate);
    world.signals.emit('SIGINT');
    expect(world.told).toEqual([]);
    gate.resolve();
    world.stop(0);
    expect(await ended).toBe(0);
    expect(world.told).toEqual(['SIGINT']);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'gives up at a second one (%s) when the server never comes up',
    async (signal, code) => {
      write('config.toml', MINIMAL);
      const world = createCliWorld({ cwd, before: new Promise(() => {}) });
      const ended = world.run('serve');
      while (world.started.length === 0) await new Promise(setImmediate);
      world.signals.emit('SIGTERM');
      world.advance(ECHO_MS);
      world.signals.emit(signal);
      expect(await ended).toBe(code);
    },
  );
});

describe('command demo', () => {
  it('serves the built-in agents without any file and says what to type next', async () => {
    const world = createCliWorld({ cwd });
    world.stop(0);
    expect(await world.run('demo')).toBe(0);
    const [open, gated, ...more] = world.started[0]?.agents ?? [];
    expect(more).toEqual([]);
    expect(open).toMatchObject({ id: 'demo', llm: { provider: 'scripted' } });
    expect(open).not.toHaveProperty('hitl');
    expect(open?.mcpFilter).not.toContain('delete_file');
    expect(gated).toMatchObject({ id: 'demo-approvals', llm: { provider: 'scripted' } });
    expect(gated?.hitl?.requireApproval).toEqual(['delete_file']);
    expect(world.started[0]?.server.defaultAgent).toBe('demo');
    expect(world.err()).not.toContain('warning');
    for (const part of [
      'curl -N -i http://127.0.0.1:4711/v1/chat/completions',
      '"stream":true',
      'curl -X POST http://127.0.0.1:4711/v1/approvals/DECISION_ID',
      'aura.approval_pending',
      'X-Run-Id',
      'curl -X POST http://127.0.0.1:4711/v1/runs/RUN_ID/cancel',
    ]) {
      expect(world.out()).toContain(part);
    }
  });

  it('runs the bundled MCP server, which is there', async () => {
    const world = createCliWorld({ cwd });
    world.stop(0);
    await world.run('demo');
    const [server] = world.started[0]?.agents[0]?.mcp.servers ?? [];
    expect(server?.transport).toBe('stdio');
    const [program, script = ''] = server?.transport === 'stdio' ? server.cmd : [];
    expect(program).toBe(process.execPath);
    expect(existsSync(script)).toBe(true);
  });

  it('lets another of its agents be the default', async () => {
    const world = createCliWorld({ cwd });
    world.stop(0);
    expect(await world.run('demo', '--default-agent', 'demo-approvals')).toBe(0);
    expect(world.started[0]?.server.defaultAgent).toBe('demo-approvals');
  });

  it('uses OpenAI when there is a key', async () => {
    const env = { OPENAI_API_KEY: 'sk-secret-key' };
    const world = createCliWorld({ cwd, env });
    world.stop(0);
    await world.run('demo');
    const llm = { provider: 'openai', model: 'gpt-5-mini', apiKey: 'sk-secret-key' };
    expect(world.started[0]?.agents.map((agent) => agent.llm)).toEqual([llm, llm]);
    expect(world.out() + world.err()).not.toContain('sk-secret-key');
  });

  it('honours the model and the address of the environment', async () => {
    const env = {
      OPENAI_API_KEY: 'k',
      OPENAI_MODEL: 'm',
      OPENAI_BASE_URL: 'http://127.0.0.1:1/v1',
    };
    const world = createCliWorld({ cwd, env });
    world.stop(0);
    await world.run('demo');
    expect(world.started[0]?.agents[0]?.llm).toMatchObject({
      model: 'm',
      baseUrl: env.OPENAI_BASE_URL,
    });
  });

  it('serves the named configuration instead, with hints for its agent', async () => {
    write('mine.toml', MINIMAL.replace('"a"', `"it's mine"`));
    const world = createCliWorld({ cwd });
    world.stop(0);
    expect(await world.run('demo', '--config', 'mine.toml')).toBe(0);
    expect(world.started[0]?.agents[0]?.id).toBe("it's mine");
    // A quote inside the id must not end the shell's word.
    expect(world.out()).toContain(`-d '{"model":"it'\\''s mine",`);
    expect(world.out()).not.toContain('delete notes.txt');
    expect(world.started[0]?.server).not.toHaveProperty('defaultAgent');
  });
});
