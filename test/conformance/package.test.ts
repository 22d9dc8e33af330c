import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, sourcesOf } from './architecture-sources.ts';

/**
 * Hazard: what is published is not what is developed. A dependency that is only a development one,
 * an entry that the build does not write or a Node that is only this machine's are found by the
 * first stranger, unless a test looks first.
 */

interface Manifest {
  readonly engines: { readonly node: string };
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lockfile {
  readonly packages: Readonly<Record<string, Locked>>;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const lockfile = JSON.parse(read('package-lock.json')) as Lockfile;

/** `src/diagrams` draws the repository's own diagrams; it stays at home. */
const shipped = sourcesOf('machines', 'src').filter(
  ({ path }) => !path.startsWith('src/diagrams/'),
);

/** What the entry `runwarden/testing/property` alone reaches, and the command of a clone. */
const isOptional = (path: string): boolean => /^src\/testing\/(?:property|simulation)\//.test(path);

/** The source that the build turns into `target`. */
const sourceOf = (target: string): string =>
  target
    .replace('./dist/', '')
    .replace(/^dist\//, '')
    .replace(/\.d\.ts$|\.js$/, '.ts');

describe('the package', () => {
  it('imports at run time only what it installs', () => {
    const missing = shipped.flatMap((file) =>
      file.imports
        .filter((ref) => !ref.isRelative && !ref.isType && !ref.target.startsWith('node:'))
        .filter((ref) => !(ref.target in manifest.dependencies))
        .filter((ref) => !(ref.target in manifest.peerDependencies && isOptional(file.path)))
        .map((ref) => `${file.path}:${ref.line} ${ref.target}`),
    );
    expect(missing).toEqual([]);
  });

  it('works without what is optional but for the one entry that needs it', () => {
    expect(manifest.peerDependenciesMeta).toEqual({ 'fast-check': { optional: true } });
    const needing = shipped
      .filter(({ path }) => !isOptional(path))
      .flatMap((file) => file.imports.map((ref) => ({ file, ref })))
      .filter(({ ref }) => ref.isRelative && !ref.isType && isOptional(ref.target))
      .map(({ file, ref }) => `${file.path}:${ref.line} ${ref.target}`);
    expect(needing).toEqual([]);
  });

  it('keeps what it does not ship out of what it ships', () => {
    const home = shipped.flatMap((file) =>
      file.imports
        .filter((ref) => ref.target.startsWith('src/diagrams/'))
        .map((ref) => `${file.path}:${ref.line} ${ref.target}`),
    );
    expect(home).toEqual([]);
  });

  it('has a source for every entry', () => {
    const targets = [
      ...Object.values(manifest.bin),
      ...Object.values(manifest.exports).flatMap((entry) =>
        typeof entry === 'string' ? [] : Object.values(entry),
      ),
    ];
    expect(targets.filter((target) => !existsSync(join(ROOT, sourceOf(target))))).toEqual([]);
  });

  it('has a command that a shell can start', () => {
    const commands = Object.values(manifest.bin).map((target) => read(sourceOf(target)));
    expect(commands.filter((text) => !text.startsWith('#!/usr/bin/env node\n'))).toEqual([]);
  });
});

describe('the development of it', () => {
  it('runs on the Node that is pinned', () => {
    const pinned = lockfile.packages['node_modules/node']?.version;
    expect(process.versions.node).toBe(pinned);
    const wanted = Number(manifest.engines.node.replace('>=', ''));
    expect(Number.parseInt(process.versions.node, 10)).toBeGreaterThanOrEqual(wanted);
  });

  it('lets one package alone run a script when it is installed', () => {
    expect(manifest.allowScripts).toEqual({ node: true });
  });

  it('is locked by checksums and not by the address of a registry', () => {
    const packages = Object.entries(lockfile.packages).filter(([path]) => path !== '');
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(packages.filter(([, { integrity }]) => integrity === undefined)).toEqual([]);
  });

  it('is locked completely, so that a clean install finds what the lock names', () => {
    const names = new Set(
      Object.keys(lockfile.packages).map((path) => path.replace(/^.*node_modules\//, '')),
    );
    const missing = Object.entries(lockfile.packages).flatMap(([path, locked]) =>
      Object.keys({ ...locked.dependencies, ...locked.optionalDependencies })
        .filter((name) => !names.has(name))
        .map((name) => `${path} needs ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('has the scripts that the README and CI call', () => {
    const wanted =
      'start test verify check format build diagrams bench simulate mutate prepack'.split(' ');
    expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(wanted));
  });

  it('tells of every change that is not released yet', () => {
    expect(read('CHANGELOG.md')).toContain('## [Unreleased]');
  });
});
