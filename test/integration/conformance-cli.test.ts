import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../src/testing/conformance/report.ts';
import { systemClock } from '../../src/clock.ts';
import { createCliWorld } from '../support/cli-world.ts';

const REPORT_MS = 300_000;
let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'runwarden-conformance-cli-'));
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const world = () =>
  createCliWorld({ cwd, env: { PATH: process.env['PATH'] }, fetch, timers: systemClock });

/** Something that lists these agents and can do nothing else. */
async function listing(...ids: readonly string[]): Promise<{ url: string; close: () => void }> {
  const server = createServer((_, response) => {
    response.end(JSON.stringify({ object: 'list', data: ids.map((id) => ({ id })) }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

describe('runwarden conformance', () => {
  it(
    'tests a server that it starts itself, prints the report and writes its JSON',
    async () => {
      const cli = world();
      expect(await cli.run('conformance', '--only', 'errors', '--json', 'report.json')).toBe(0);
      const report = JSON.parse(readFileSync(join(cwd, 'report.json'), 'utf8')) as Report;
      expect(report).toMatchObject({ version: 1, summary: { failed: 0, skipped: 0 } });
      expect(report.results.every(({ feature }) => feature === 'errors')).toBe(true);
      expect(cli.out()).toContain(`${report.summary.passed} passed, 0 failed, 0 skipped`);
    },
    REPORT_MS,
  );

  it('writes a configuration that the server accepts', async () => {
    const cli = world();
    const ports = ['--model-port', '5001', '--mcp-port', '5002'];
    expect(await cli.run('conformance', '--print-config', 'kit', ...ports)).toBe(0);
    expect(readdirSync(join(cwd, 'kit'))).toHaveLength(4);
    expect(cli.out()).toContain('runwarden serve --config kit');
    expect(await cli.run('check-config', '--config', 'kit')).toBe(0);
    expect(readFileSync(join(cwd, 'kit', 'conformance-webhook.toml'), 'utf8')).toContain(
      'url = "http://127.0.0.1:5002/decide"',
    );
  });

  it('says which agents a server lacks, and ends with 5', async () => {
    const other = await listing('conformance', 'gpt');
    const cli = world();
    const ports = ['--model-port', '0', '--mcp-port', '0'];
    expect(await cli.run('conformance', '--url', other.url, ...ports)).toBe(5);
    other.close();
    expect(cli.err()).toContain('lacks the agents conformance-approvals');
    expect(cli.err()).toContain('it has conformance, gpt');
    expect(cli.err()).toContain('--print-config');
  });

  it('says that nobody is there, and ends with 5', async () => {
    const other = await listing();
    other.close();
    const cli = world();
    const ports = ['--model-port', '0', '--mcp-port', '0'];
    expect(await cli.run('conformance', '--url', other.url, ...ports)).toBe(5);
    expect(cli.err()).toContain('cannot be reached');
  });

  it('refuses a feature that there is not, and names those that there are', async () => {
    const cli = world();
    expect(await cli.run('conformance', '--only', 'runs,dance')).toBe(2);
    expect(cli.err()).toContain('"dance"');
    expect(cli.err()).toContain('busy sessions');
  });
});
