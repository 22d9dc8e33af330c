import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHARTS } from '../../src/diagrams/charts.ts';
import { renderAll } from '../../src/diagrams/render.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const committed = readdirSync(resolve(ROOT, 'diagrams'));
const from = { machinesDir: resolve(ROOT, 'machines'), diagramsDir: resolve(ROOT, 'diagrams') };
const rendered = await renderAll(CHARTS, from);

describe('diagrams', () => {
  it('show every machine file and no other', () => {
    const machines = readdirSync(resolve(ROOT, 'machines')).filter((name) =>
      name.endsWith('.machine.ts'),
    );
    const listed = CHARTS.map(({ name }) => `${name}.machine.ts`);
    expect([...listed].sort()).toEqual(machines.sort());
  });

  it.each([...rendered.keys()])('has %s as the machines are now', (name) => {
    const text = committed.includes(name)
      ? readFileSync(resolve(ROOT, 'diagrams', name), 'utf8')
      : '';
    // Two long texts are not worth a diff: `npm run diagrams` is the remedy for all of them.
    expect(text === rendered.get(name), `diagrams/${name} is stale: run "npm run diagrams"`).toBe(
      true,
    );
  });

  it('keeps no file of a chart that is gone', () => {
    const tables = CHARTS.flatMap(({ name }) => [`${name}.edges.tsv`, `${name}.coverage.tsv`]);
    const known = new Set([...rendered.keys(), ...tables, 'compositions']);
    expect(committed.filter((name) => !known.has(name))).toEqual([]);
  });

  it('keeps no table of a composition that no test explores any more', () => {
    const tests = readdirSync(resolve(ROOT, 'test/model/compositions'));
    const names = tests.flatMap((name) => /^(.+)\.model\.test\.ts$/.exec(name)?.[1] ?? []);
    const tables = names.flatMap((name) => [`${name}.coverage.tsv`, `${name}.edges.tsv`]);
    expect(readdirSync(resolve(ROOT, 'diagrams/compositions')).sort()).toEqual(tables.sort());
  });

  it('renders the same bytes again', async () => {
    expect(await renderAll(CHARTS, from)).toEqual(rendered);
  });
});
