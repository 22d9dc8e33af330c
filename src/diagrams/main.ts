import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CHARTS } from './charts.ts';
import { renderAll } from './render.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DIAGRAMS = join(ROOT, 'diagrams');

/** `--check` writes nothing and exits with 1 when a file is stale; without it they are written. */
const files = await renderAll(CHARTS, {
  machinesDir: join(ROOT, 'machines'),
  diagramsDir: DIAGRAMS,
});
if (process.argv.includes('--check')) await check();
else await write();

async function check(): Promise<void> {
  const stale = await differences();
  if (stale.length === 0) return;
  process.stderr.write(`Stale in diagrams/: ${stale.join(', ')}. Run "npm run diagrams".\n`);
  process.exitCode = 1;
}

async function write(): Promise<void> {
  const stale = await differences();
  await mkdir(DIAGRAMS, { recursive: true });
  for (const name of stale) {
    const text = files.get(name);
    if (text === undefined) await rm(join(DIAGRAMS, name));
    else await writeFile(join(DIAGRAMS, name), text);
  }
  process.stdout.write(`${files.size} files in diagrams/, ${stale.length} changed.\n`);
}

/** Names of files that are missing, have other content, or belong to a chart that is gone. */
async function differences(): Promise<string[]> {
  const present = await readdir(DIAGRAMS).catch(() => []);
  const orphans = present.filter((name) => isGenerated(name) && !files.has(name));
  const changed: string[] = [];
  for (const [name, text] of files) {
    const old = await readFile(join(DIAGRAMS, name), 'utf8').catch(() => undefined);
    if (old !== text) changed.push(name);
  }
  return [...changed, ...orphans];
}

/** The tables `*.edges.tsv` beside them are written by the model tests. */
function isGenerated(name: string): boolean {
  return /\.(mmd|svg|transitions\.tsv)$/.test(name);
}
