import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { lstat, mkdir, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

const CONTENT_CHARS_MAX = 1_000_000;
const ENTRIES_MAX = 1_000;

/** The directory that the file tools work in. */
export interface Scratch {
  readonly directory: string;
  remove(): void;
}

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
const failure = (said: string) => ({ ...text(said), isError: true });

/**
 * Adds `list_files`, `write_file` and `delete_file`. They really work, in a directory of their own
 * under the temporary directory of the system, which starts with a few files and goes with the process.
 */
export function registerFileTools(server: McpServer): Scratch {
  const scratch = createScratch();
  server.registerTool(
    'list_files',
    { description: 'Lists the files of the scratch directory.', inputSchema: {} },
    async () => text(listFiles(scratch).join('\n') || 'There are no files.'),
  );
  server.registerTool(
    'write_file',
    {
      description: 'Writes a file in the scratch directory and replaces one that is there.',
      inputSchema: {
        path: z.string().min(1).describe('Relative to the scratch directory.'),
        content: z.string().max(CONTENT_CHARS_MAX),
      },
    },
    ({ path, content }) => attempt(() => write(scratch, path, content)),
  );
  server.registerTool(
    'delete_file',
    {
      description: 'Deletes a file of the scratch directory for good.',
      inputSchema: { path: z.string().min(1).describe('Relative to the scratch directory.') },
      annotations: { destructiveHint: true },
    },
    ({ path }) => attempt(() => remove(scratch, path)),
  );
  return scratch;
}

function createScratch(): Scratch {
  // The real path, so that a link on the way to the temporary directory is not taken for an escape.
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'runwarden-demo-')));
  mkdirSync(join(directory, 'notes'));
  for (const [name, content] of [
    ['notes.txt', 'Call back on Monday.\n'],
    ['report.txt', 'Quarterly numbers, draft.\n'],
    ['notes/todo.txt', 'Water the plants.\n'],
  ] as const) {
    writeFileSync(join(directory, name), content);
  }
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

function listFiles({ directory }: Scratch): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort()
    .slice(0, ENTRIES_MAX);
}

async function write(scratch: Scratch, path: string, content: string): Promise<string> {
  const target = inside(scratch, path);
  await refuseLinks(scratch, target);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
  return `Wrote ${Buffer.byteLength(content)} bytes to ${relative(scratch.directory, target)}.`;
}

async function remove(scratch: Scratch, path: string): Promise<string> {
  const target = inside(scratch, path);
  await refuseLinks(scratch, target);
  if (!(await lstat(target)).isFile()) throw new Refusal(`${path} is not a file.`);
  await unlink(target);
  return `Deleted ${relative(scratch.directory, target)}.`;
}

/** The absolute path, if it lies inside the scratch directory. */
function inside({ directory }: Scratch, path: string): string {
  const target = resolve(directory, path);
  if (!target.startsWith(directory + sep)) {
    throw new Refusal(`"${path}" is outside the scratch directory; give a path inside it.`);
  }
  return target;
}

/** A link inside the directory may point out of it, so nothing is done through one. */
async function refuseLinks({ directory }: Scratch, target: string): Promise<void> {
  for (let at = target; at !== directory; at = dirname(at)) {
    const found = await lstat(at).catch(() => undefined);
    if (found?.isSymbolicLink() === true) {
      throw new Refusal('The path goes through a link; it is refused.');
    }
  }
}

/** What the tool will not do, said to the model. */
class Refusal extends Error {
  override readonly name = 'Refusal';
}

async function attempt(work: () => Promise<string>) {
  try {
    return text(await work());
  } catch (error) {
    if (error instanceof Refusal) return failure(error.message);
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      return failure('There is no such file; list_files shows those there are.');
    return failure(`The file system said ${code}.`);
  }
}
