import { spawn } from 'node:child_process';

/** How a command ended; `status` is null when it was not over within its bound. */
export interface Ended {
  readonly status: number | null;
  readonly output: string;
  readonly tookMs: number;
}

/** Enough of a report to find the first failure in. */
const OUTPUT_CHARS_MAX = 4_000_000;

const running = new Set<number>();

/** Runs a command in a process group of its own, so that all it started goes with it at the bound. */
export function runCommand(
  argv: readonly string[],
  { cwd, boundMs }: { readonly cwd: string; readonly boundMs: number },
): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const beganAt = performance.now();
  const env = { ...process.env, CI: 'true', NO_COLOR: '1' };
  const child = spawn(process.execPath, argv, { cwd, env, detached: true, stdio: PIPES });
  const group = child.pid ?? 0;
  running.add(group);
  let output = '';
  let isLate = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < OUTPUT_CHARS_MAX) output += text;
  });
  const timer = Number.isFinite(boundMs)
    ? setTimeout(() => {
        isLate = true;
        endGroup(group);
      }, boundMs)
    : undefined;
  child.once('error', reject);
  child.once('close', (code) => {
    clearTimeout(timer);
    endGroup(group); // What it left running.
    running.delete(group);
    const tookMs = performance.now() - beganAt;
    resolve({ status: isLate ? null : (code ?? 1), output, tookMs });
  });
  return promise;
}

const PIPES: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];

/** For a script that is told to stop: nothing of it goes on. */
export function endAll(): void {
  for (const group of running) endGroup(group);
}

function endGroup(group: number): void {
  try {
    if (group > 0) process.kill(-group, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}
