import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { historyOf } from '../../src/testing/simulation/campaign.ts';
import { digestOf, simulate } from '../../src/testing/simulation/simulate.ts';

/** `npm run simulate` as a process of its own. */

const MAIN = new URL('../../src/testing/simulation/main.ts', import.meta.url).pathname;

async function run(...args: string[]): Promise<{ code: number; out: string }> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args]);
    return { code: 0, out: stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { code, out: stdout };
  }
}

function file(name: string, text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'simulate-')), name);
  writeFileSync(path, text);
  return path;
}

describe('npm run simulate', () => {
  it('writes the same journals in another process, byte for byte, and says what it reached', async () => {
    const { code, out } = await run('--seed', '77', '--runs', '5', '--digests');
    expect(code).toBe(0);
    for (let seed = 77; seed < 82; seed += 1) {
      expect(out).toContain(`${seed} ${digestOf(await simulate(historyOf(seed, 20)))}`);
    }
    expect(out).toMatch(/Simulated 5 histories with \d+ steps, \d+ faults/);
  }, 120_000);

  it('plays a history from a file and shows its journal', async () => {
    const { code, out } = await run('--replay', file('one.json', JSON.stringify(historyOf(77, 3))));
    expect(out).toMatch(/Session (one|two)\n/);
    expect(out).toContain('Nothing is wrong.');
    expect(code).toBe(0);
  }, 60_000);

  it('ends with 1 for a journal that is wrong, and with 2 for wrong usage', async () => {
    expect((await run('--journal', file('none.txt', 'hello\n'))).code).toBe(1);
    expect((await run('--runs', 'many')).code).toBe(2);
  }, 60_000);
});
