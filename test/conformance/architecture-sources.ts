import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { type Program, parseSync } from 'oxc-parser';

/** One import or re-export of a source file. */
export interface ImportRef {
  readonly specifier: string;
  /** `src/clock.ts` for a file of ours, else the package's name or `node:…`. */
  readonly target: string;
  readonly isRelative: boolean;
  /** True when nothing of it is left at run time. */
  readonly isType: boolean;
  readonly names: readonly string[];
  readonly line: number;
}

export interface SourceFile {
  /** From the repository's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly program: Program;
  /** What each comment says, without its signs. */
  readonly comments: readonly string[];
  readonly imports: readonly ImportRef[];
  /** What `export default` and `export *` leave in the file: one sentence each. */
  readonly looseExports: readonly string[];
  /** `path:line` of an offset, as an editor opens it. */
  at(offset: number): string;
}

export const ROOT = resolve(import.meta.dirname, '../..');

/** Every TypeScript file under `folders`, parsed. Throws on a file that does not parse. */
export function sourcesOf(...folders: readonly string[]): readonly SourceFile[] {
  return folders.flatMap((folder) => filesUnder(folder).filter(isTypeScript).map(parsed));
}

/** Paths of all files under `folder`, sorted; empty when there is no such folder. */
export function filesUnder(folder: string): readonly string[] {
  const entries = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => posix.relative(ROOT, posix.join(entry.parentPath, entry.name)))
    .sort();
}

const isTypeScript = (path: string): boolean => path.endsWith('.ts');

const cache = new Map<string, SourceFile>();

function parsed(path: string): SourceFile {
  const known = cache.get(path);
  if (known !== undefined) return known;
  const file = parse(path, readFileSync(join(ROOT, path), 'utf8'));
  cache.set(path, file);
  return file;
}

/** Parses `text` as the file `path`; tests of the rules give sources that no file has. */
export function parse(path: string, text: string): SourceFile {
  const { program, module, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const line = (offset: number): number => text.slice(0, offset).split('\n').length;
  const ref = (specifier: string, start: number, rest: Pick<ImportRef, 'isType' | 'names'>) => ({
    specifier,
    target: targetOf(path, specifier),
    isRelative: specifier.startsWith('.'),
    line: line(start),
    ...rest,
  });
  const imports = module.staticImports.map(({ moduleRequest, start, entries }) =>
    ref(moduleRequest.value, start, {
      isType: entries.length > 0 && entries.every((entry) => entry.isType),
      names: entries.map((entry) => entry.importName.name ?? '*'),
    }),
  );
  const entries = module.staticExports.flatMap((statement) => statement.entries);
  const reexports = entries.flatMap(({ moduleRequest, start, isType, importName }) =>
    moduleRequest === null
      ? []
      : [ref(moduleRequest.value, start, { isType, names: [importName.name ?? '*'] })],
  );
  const dynamic = module.dynamicImports.flatMap(({ moduleRequest, start }) => {
    const literal = /^(['"`])([^$]+)\1$/.exec(text.slice(moduleRequest.start, moduleRequest.end));
    return literal?.[2] === undefined
      ? []
      : [ref(literal[2], start, { isType: false, names: ['*'] })];
  });
  const looseExports = entries.flatMap((entry) => {
    const where = `${path}:${line(entry.start)}`;
    if (String(entry.exportName.kind) === 'Default') return [`${where} exports a default`];
    const isStar = String(entry.importName.kind).startsWith('All');
    return isStar ? [`${where} exports everything of another file`] : [];
  });
  return {
    path,
    text,
    program,
    comments: comments.map(({ value }) => value),
    imports: [...imports, ...reexports, ...dynamic],
    looseExports,
    at: (offset) => `${path}:${line(offset)}`,
  };
}

function targetOf(path: string, specifier: string): string {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier);
  if (specifier.startsWith('node:')) return specifier;
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}
