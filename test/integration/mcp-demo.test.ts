import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkContent } from '../../src/hitl/elicitation.ts';
import type { ElicitationAnswer } from '../../src/tool.ts';
import { askedContext } from './mcp-asking-kit.ts';
import { callContext, demoServer, type Mcp, startMcp, toolNamed } from './mcp-kit.ts';

let temp: string;
beforeEach(async () => {
  temp = await mkdtemp(join(tmpdir(), 'mcp-demo-test-'));
});
afterEach(() => rm(temp, { recursive: true, force: true }));

const scratchOf = (directory: string): string => {
  const [name] = readdirSync(directory);
  if (name === undefined) throw new Error('The server has made no scratch directory.');
  return join(directory, name);
};

describe('the bundled server as a process', () => {
  it('leaves with 0 and takes its directory along when its input closes', async () => {
    const { cmd, args } = demoServer();
    const child = spawn(cmd[0] as string, [...args], {
      env: { ...process.env, TMPDIR: temp },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.write(
      `${JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 't', version: '1' },
        },
      })}\n`,
    );
    await once(child.stdout, 'data');
    const scratch = scratchOf(temp);
    expect(existsSync(scratch)).toBe(true);
    child.stdin.end();
    const [code] = await once(child, 'exit');

    expect(code).toBe(0);
    expect(existsSync(scratch)).toBe(false);
  });
});

describe('the file tools of the bundled server', () => {
  let mcp: Mcp;
  afterEach(() => mcp.stop());

  it('do not follow a link out of their directory', async () => {
    mcp = startMcp();
    const lease = await mcp.acquire([{ ...demoServer(), env: { TMPDIR: temp } }]);
    const scratch = scratchOf(temp);
    const outside = join(temp, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'kept'), 'kept');
    symlinkSync(outside, join(scratch, 'out'));
    symlinkSync(join(outside, 'kept'), join(scratch, 'file'));
    const ask = (name: string, args: Record<string, unknown>) =>
      toolNamed(lease, name).execute(args, callContext().context);

    const refused = {
      text: 'Tool returned an error: The path goes through a link; it is refused.',
      isError: true,
    };
    expect(await ask('delete_file', { path: 'out/kept' })).toEqual(refused);
    expect(await ask('delete_file', { path: 'file' })).toEqual(refused);
    expect(await ask('write_file', { path: 'out/new', content: 'x' })).toEqual(refused);
    expect(await ask('write_file', { path: 'out/deeper/new', content: 'x' })).toEqual(refused);
    expect(await ask('write_file', { path: 'file', content: 'x' })).toEqual(refused);
    expect(readdirSync(outside)).toEqual(['kept']);
    expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('kept');
  });
});

describe('the deploy tool of the bundled server', () => {
  let mcp: Mcp;
  afterEach(() => mcp.stop());

  it('asks for the reason and writes down what it is told, and nothing otherwise', async () => {
    mcp = startMcp();
    const lease = await mcp.acquire([{ ...demoServer(), env: { TMPDIR: temp } }]);
    const deploy = async (answer: ElicitationAnswer) => {
      const { context, question } = askedContext();
      const done = toolNamed(lease, 'deploy').execute({ service: 'web' }, context);
      const put = await question(1);
      put.answer(answer);
      return { ...(await done), schema: put.question.schema };
    };
    const content = { reason: 'a fix', environment: 'staging' };

    const refused = await deploy({ action: 'decline' });
    expect(refused.text).toBe('A person refused, so nothing was deployed.');
    expect(checkContent(refused.schema, content)).toBeUndefined();
    expect(checkContent(refused.schema, { ...content, reason: 'x' })).toContain('"reason"');
    expect(await deploy({ action: 'cancel' })).toMatchObject({ isError: true });
    const log = join(scratchOf(temp), 'deployments.log');
    expect(existsSync(log)).toBe(false);
    const { text } = await deploy({ action: 'accept', content });
    expect(text).toBe('Deployed web to staging: a fix');
    expect(readFileSync(log, 'utf8')).toBe(`${JSON.stringify({ service: 'web', ...content })}\n`);
  });
});
