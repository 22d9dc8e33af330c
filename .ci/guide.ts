/**
 * The files of `docs/testing.md`, as a reader would copy them.
 * `node .ci/guide.ts FOLDER` writes them there.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const GUIDE = resolve(import.meta.dirname, '../docs/testing.md');

/** Text by file name. */
export function guideFiles(): ReadonlyMap<string, string> {
  const blocks = readFileSync(GUIDE, 'utf8').matchAll(/^```ts file=(\S+)\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, name = '', text = '']) => [name, text]));
}

if (process.argv[1] === import.meta.filename) {
  const [, , folder = '.'] = process.argv;
  for (const [name, text] of guideFiles()) writeFileSync(join(folder, name), text);
}
