import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** Everything that a suite may read; the rest of the tree is of no use to it. */
const PARTS = [
  '.ci',
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'diagrams',
  'docs',
  'machines',
  'package-lock.json',
  'package.json',
  'src',
  'test',
  'tsconfig.json',
] as const;

/** A copy of the tree in which bugs are planted; the tree itself is never written. */
export interface Workspace {
  readonly root: string;
  /** A folder beside it for what is no part of a tree. */
  readonly scratch: string;
  read(file: string): string;
  write(file: string, text: string): void;
}

/** One folder with `count` equal copies in it, and how to be rid of it. */
export function openWorkspaces(count: number): { all: readonly Workspace[]; remove: () => void } {
  const parent = mkdtempSync(join(tmpdir(), 'runwarden-mutation-'));
  const roots = Array.from({ length: count }, (_, index) => join(parent, String(index)));
  const [first = ROOT, ...rest] = roots;
  for (const part of PARTS) copy(join(ROOT, part), join(first, part));
  // From the first one, so that all are equal though the tree is being worked on.
  for (const root of rest) copy(first, root);
  for (const root of roots) {
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    mkdirSync(scratchOf(root));
  }
  return {
    all: roots.map(workspaceAt),
    remove: () => rmSync(parent, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function copy(from: string, to: string): void {
  try {
    cpSync(from, to, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // Not every part is there yet.
  }
}

const scratchOf = (root: string): string => `${root}-scratch`;

const workspaceAt = (root: string): Workspace => ({
  root,
  scratch: scratchOf(root),
  read: (file) => readFileSync(join(root, file), 'utf8'),
  write: (file, text) => writeFileSync(join(root, file), text),
});
