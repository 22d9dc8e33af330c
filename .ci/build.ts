/**
 * Writes `dist/`: JavaScript and declarations of `machines` and `src`, and beside them every other
 * file that the sources read at run time. `src/diagrams` draws the repository's own diagrams and is
 * not published.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
const tsc = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin/tsc',
);

rmSync(dist, { recursive: true, force: true });
const project = join(root, '.ci/tsconfig.build.json');
const compiled = spawnSync(process.execPath, [tsc, '--project', project], { stdio: 'inherit' });
if (compiled.status === 0) {
  cpSync(join(root, 'src'), join(dist, 'src'), { recursive: true, filter: isAsset });
  // What `GET /v1/runs/{id}/chart` draws.
  cpSync(join(root, 'diagrams/run.svg'), join(dist, 'diagrams/run.svg'));
} else {
  process.exitCode = 1;
}

/** Folders are walked; TypeScript was compiled. */
function isAsset(path: string): boolean {
  return !path.endsWith('.ts') && path !== join(root, 'src/diagrams');
}
