import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ROOT, type SourceFile, parse, sourcesOf } from './architecture-sources.ts';
import {
  badTitles,
  badWords,
  foreignHosts,
  realTime,
  tooLong,
  unshippedUrls,
} from './architecture-text.ts';

/** This file and its rules quote what they forbid. */
const isRule = (file: SourceFile): boolean =>
  file.path.startsWith('test/conformance/architecture-text');

const product = sourcesOf('machines', 'src');
const tests = sourcesOf('test').filter((file) => !isRule(file));
const all = [...product, ...tests];

/** The clock itself, people at a terminal and the demo's tools live in real time. */
const inRealTime = (path: string): boolean => /^src\/(?:clock\.ts$|cli\/|mcp\/demo-)/.test(path);
const mayWait = (path: string): boolean =>
  !/^test\/(?:unit|model|property|conformance)\//.test(path);

/** What the repository may show to somebody who opens it. */
const TOP_LEVEL = new Set(
  `.ci .editorconfig .git .gitattributes .github .gitignore .npmrc .nvmrc .runwarden CHANGELOG.md
  CONTRIBUTING.md LICENSE README.md SECURITY.md coverage diagrams dist docs machines node_modules
  package-lock.json package.json src test tsconfig.json`.split(/\s+/),
);

describe('every source', () => {
  it('is short enough to be read', () => {
    expect(all.flatMap(tooLong)).toEqual([]);
  });

  it('exports by name', () => {
    expect(all.flatMap((file) => file.looseExports)).toEqual([]);
  });

  it('names no machine, no host and no work for later', () => {
    expect([...all.flatMap(badWords), ...all.flatMap(foreignHosts)]).toEqual([]);
  });
});

describe('the product', () => {
  it('takes the time from the clock it was given', () => {
    const judged = product.filter((file) => !inRealTime(file.path));
    expect(judged.flatMap(realTime)).toEqual([]);
  });

  it('finds its own files in the package as well', () => {
    expect(product.flatMap(unshippedUrls)).toEqual([]);
  });

  it('creates actors at its root, in its pools and in the test kit alone', () => {
    const creators = product.filter(({ imports }) =>
      imports.some((ref) => ref.target === 'xstate' && ref.names.includes('createActor')),
    );
    const mayCreate = /^(?:machines\/pool\.ts|src\/supervisor\.ts|src\/testing\/.*)$/;
    expect(creators.map((file) => file.path).filter((path) => !mayCreate.test(path))).toEqual([]);
  });
});

describe('the tests', () => {
  it('wait for events, not for time, outside integration', () => {
    expect(tests.filter((file) => !mayWait(file.path)).flatMap(realTime)).toEqual([]);
  });

  it('have titles that are sentences, and none runs alone', () => {
    expect(tests.flatMap(badTitles)).toEqual([]);
  });
});

describe('the top level', () => {
  it('holds what a repository needs and nothing else', () => {
    expect(readdirSync(ROOT).filter((name) => !TOP_LEVEL.has(name))).toEqual([]);
  });
});

describe('the rules of the sources', () => {
  const rules = { realTime, unshippedUrls, badWords, foreignHosts, badTitles };
  const faults = (rule: keyof typeof rules, text: string): number =>
    rules[rule](parse('src/a.ts', text)).length;

  it.each([
    ['realTime', 'setTimeout(() => {}, 1);'],
    ['realTime', 'globalThis.setInterval(() => {}, 1);'],
    ['realTime', 'export const at = Date.now();'],
    ['realTime', 'export const at = new Date();'],
    ['realTime', 'AbortSignal.timeout(5);'],
    ['realTime', `import { setTimeout as sleep } from 'node:timers/promises';`],
    ['unshippedUrls', `new Worker(new URL('./worker.ts', import.meta.url));`],
    ['unshippedUrls', `export const path = import.meta.resolve('../mcp/demo.ts');`],
    ['badWords', '// TODO: later'],
    ['badWords', `export const state = 'canceled';`],
    ['badWords', `export const path = '/home/somebody/project';`],
    ['badWords', '// oxlint-disable-next-line no-var'],
    ['badWords', '// @ts-ignore'],
    ['foreignHosts', `fetch('https://internal.corp.io/v1');`],
    ['badTitles', `it('should work', () => {});`],
    ['badTitles', `it.only('works', () => {});`],
    ['badTitles', `describe.only.each([])('works', () => {});`],
  ] as const)('%s finds a fault in: %s', (rule, text) => {
    expect(faults(rule, text)).toBeGreaterThan(0);
  });

  it.each([
    ['realTime', 'export const at = new Date(0); clock.setTimeout(() => {}, 1);'],
    ['unshippedUrls', `new URL(path, 'http://localhost');`],
    ['badWords', '// oxlint-disable-next-line no-var -- measured'],
    ['badWords', `app.get('/v1/work/', home);`],
    ['foreignHosts', `fetch('http://127.0.0.1:8080'); fetch('https://mcp.example.com');`],
    ['badTitles', `it('shoulders the load', () => {});`],
  ] as const)('%s finds no fault in: %s', (rule, text) => {
    expect(faults(rule, text)).toBe(0);
  });

  it('find a file of 401 lines and pass one of 400', () => {
    expect(tooLong(parse('src/a.ts', '\n'.repeat(401)))).toHaveLength(1);
    expect(tooLong(parse('src/a.ts', '\n'.repeat(400)))).toEqual([]);
  });

  it('find default and star exports', () => {
    const loose = parse(
      'src/a.ts',
      `export default 1; export * from './b.ts'; export const c = 1;`,
    ).looseExports;
    expect(loose).toHaveLength(2);
  });
});
