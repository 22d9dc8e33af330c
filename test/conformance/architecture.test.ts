import { describe, expect, it } from 'vitest';
import { brokenImports, layerOf } from './architecture-layers.ts';
import { parse, sourcesOf } from './architecture-sources.ts';

const product = sourcesOf('machines', 'src');

/** What the rules say about a file that nobody wrote. */
const verdict = (path: string, text: string): string => brokenImports(parse(path, text)).join('\n');

describe('layers', () => {
  it('finds the sources it judges', () => {
    expect(product.map((file) => file.path)).toContain('machines/vocabulary.ts');
    expect(new Set(product.map((file) => layerOf(file.path))).size).toBeGreaterThan(2);
  });

  it.each(product.map((file) => [file.path, file] as const))(
    '%s imports only what its layer may know',
    (_, file) => {
      expect(brokenImports(file)).toEqual([]);
    },
  );

  it('lets one file import another only in the direction of the architecture', () => {
    expect(importGraphCycle()).toEqual([]);
  });
});

describe('the rules of the layers', () => {
  it.each([
    ['machines/a.ts', `import { systemClock } from '../src/clock.ts';`, '(charts)'],
    ['machines/a.ts', `import { readFile } from 'node:fs';`, 'into a chart'],
    ['src/leaf.ts', `import { runMachine } from '../machines/run.machine.ts';`, '(leaf)'],
    ['src/http/a.ts', `import { runMachine } from '../../machines/run.machine.ts';`, '(http)'],
    ['src/http/a.ts', `import { usage } from '../../machines/vocabulary.ts';`, '(http)'],
    ['src/http/a.ts', `import { append } from '../journal/journal.ts';`, 'read side'],
    ['src/http/a.ts', `import type { Store } from '../stores/memory.ts';`, '(stores)'],
    ['src/stores/a.ts', `import { provider } from '../providers/openai.ts';`, '(providers)'],
    ['src/mcp/a.ts', `export { provider } from '../providers/openai.ts';`, '(providers)'],
    ['src/agent.ts', `import { createGate } from './hitl/gate.ts';`, '(hitl)'],
    ['src/config/a.ts', `import { connect } from '../mcp/pool.ts';`, '(mcp)'],
    ['src/http/a.ts', `import OpenAI from 'openai';`, 'whose home is src/providers/'],
    ['src/cli/a.ts', `const koa = await import('koa');`, 'whose home is src/http/'],
    ['src/http/a.ts', `import { DatabaseSync } from 'node:sqlite';`, 'whose home is src/stores/'],
    ['src/clock.ts', `import lodash from 'lodash';`, 'without a home'],
    ['src/clock.ts', `import { a } from '../test/support/a.ts';`, 'not shipped'],
    ['src/clock.ts', `import { a } from './ids.js';`, 'without its extension'],
  ])('refuse in %s: %s', (path, text, reason) => {
    expect(verdict(path, text)).toContain(reason);
  });

  it.each([
    ['src/http/a.ts', `import type { Usage } from '../../machines/vocabulary.ts';`],
    ['src/http/a.ts', `import { type Usage } from '../../machines/vocabulary.ts';`],
    ['src/http/a.ts', `import { TERMINAL_TYPES } from '../journal/events.ts';`],
    ['src/agent.ts', `import type { Gate } from './hitl/gate.ts';`],
    ['src/config/a.ts', `import type { ServerConfig } from '../mcp/server-config.ts';`],
    ['src/providers/a.ts', `import OpenAI from 'openai/client';`],
    ['src/stores/a.ts', `import { DatabaseSync } from 'node:sqlite';`],
    ['src/supervisor.ts', `import { openStore } from './stores/sqlite.ts';`],
  ])('accept in %s: %s', (path, text) => {
    expect(verdict(path, text)).toBe('');
  });
});

/** The files of one cycle of run-time imports; empty when there is none. */
function importGraphCycle(): readonly string[] {
  const edges = new Map(
    product.map((file) => [
      file.path,
      file.imports.filter((ref) => ref.isRelative && !ref.isType).map((ref) => ref.target),
    ]),
  );
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): readonly string[] => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return [];
    for (const next of edges.get(path) ?? []) {
      const cycle = visit(next, [...trail, path]);
      if (cycle.length > 0) return cycle;
    }
    done.add(path);
    return [];
  };
  for (const path of edges.keys()) {
    const cycle = visit(path, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}
