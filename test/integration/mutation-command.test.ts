import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCommand } from '../mutation/command.ts';
import { openWorkspaces } from '../mutation/workspace.ts';

/** Hazard: a planted bug that hangs its suite, or a script that leaves its bug in the tree. */

const cwd = () => {
  const folder = mkdtempSync(join(tmpdir(), 'runwarden-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** What it starts has the same output, which is over when the last of them is gone. */
const HANGS = `
  const { spawn } = require('node:child_process');
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'inherit' });
  console.log('started');
  setInterval(() => {}, 1e6);
`;

describe('a command of the mutation check', () => {
  it('says how it ended and what it wrote', async () => {
    const argv = ['-e', "console.log('hello'); process.exitCode = 3"];
    const ended = await runCommand(argv, { cwd: cwd(), boundMs: Number.POSITIVE_INFINITY });
    expect(ended).toMatchObject({ status: 3, output: 'hello\n' });
  });

  it('is ended at its bound with all that it has started', async () => {
    const ended = await runCommand(['-e', HANGS], { cwd: cwd(), boundMs: 3_000 });
    expect(ended.status).toBeNull();
  });
});

describe('the copies that bugs are planted in', () => {
  it('are equal, are written alone and are gone at the end', () => {
    const { all, remove } = openWorkspaces(2);
    onTestFinished(remove);
    const file = 'machines/run.machine.ts';
    const committed = readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8');
    expect(all.map((one) => one.read(file))).toEqual([committed, committed]);
    all[0]?.write(file, 'broken');
    expect(all.map((one) => one.read(file))).toEqual(['broken', committed]);
    expect(readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8')).toBe(committed);
    remove();
    expect(() => all[0]?.read(file)).toThrow('ENOENT');
  });
});
