import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { readChartDoc } from '../../src/diagrams/doc-comment.ts';
import { toDot } from '../../src/diagrams/dot.ts';
import { toMermaid } from '../../src/diagrams/mermaid.ts';
import { describeChart } from '../../src/diagrams/model.ts';
import { toReadme } from '../../src/diagrams/readme.ts';
import { toSvg } from '../../src/diagrams/svg.ts';
import { stationMachine } from './testing-charts.ts';

const station = describeChart(stationMachine);
const lines = (text: string): string[] => text.split('\n').map((line) => line.trim());

describe('Mermaid', () => {
  const text = lines(toMermaid(station));

  it('has nested and parallel states, and where each begins and ends', () => {
    expect(text[0]).toBe('stateDiagram-v2');
    expect(text).toContain('[*] --> station_opening');
    expect(text).toContain('state "open" as station_open {');
    expect(text).toContain('--');
    expect(text).toContain('[*] --> station_open_lamp_green');
    expect(text).toContain('station_closed --> [*]');
  });

  it('has `always`, guards, readable delays and the ends of children', () => {
    expect(text).toContain('station_deciding --> station_pausing : always [mayRetry]');
    expect(text).toContain('station_opening --> station_deciding : after opening');
    expect(text).toContain('station_open_lamp_green --> station_open_lamp_red : after 1000 ms');
    expect(text).toContain('station_opening --> station_open : done openGrid [hasPower]');
    expect(text).toContain('station_opening : invokes openGrid');
  });

  it('draws what a parent does for all its states from a box of its own', () => {
    expect(text).toContain('state "any state" as station__any');
    expect(text).toContain('station__any --> station_closed : station.close');
  });

  it('keeps out what Mermaid would read as its own signs', () => {
    const machine = setup({}).createMachine({
      id: 'a',
      on: { 'x;y#{z}': { actions: 'do:it' as never } },
    });
    const note = lines(toMermaid(describeChart(machine))).join(' ');
    expect(note).not.toMatch(/[;#]/);
  });
});

describe('SVG', () => {
  it('shows every state and transition as text', async () => {
    const svg = await toSvg(toDot(station), 'station');
    const shown = [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map((match) => match[1]);
    expect(shown).toEqual(
      expect.arrayContaining([
        'opening',
        'lamp',
        'closed',
        'any state',
        'after pause',
        '[mayRetry]',
      ]),
    );
    expect(svg).toMatch(/^<svg [^>]*role="img" aria-label="Statechart of station">/);
  });

  it('has the same bytes each time and names no version', async () => {
    const once = await toSvg(toDot(station), 'station');
    expect(await toSvg(toDot(station), 'station')).toBe(once);
    expect(once).not.toMatch(/<!--|graphviz/i);
  });

  it('draws transitions between the same states as one arrow', () => {
    const dot = toDot(station).split('\n');
    const arrows = dot.filter((line) => line.startsWith('"station.opening" -> "station.deciding"'));
    // The end without power, the failure and the timer differ in kind.
    expect(arrows.length).toBe(3);
    const toOpen = dot.filter((line) => line.includes('lhead="cluster_station.open"'));
    expect(toOpen.length).toBe(1);
  });

  it('escapes what XML reads as its own', async () => {
    const machine = setup({}).createMachine({
      id: 'a',
      initial: 'b',
      states: { b: { on: { 'x<&>y': 'b' } } },
    });
    expect(await toSvg(toDot(describeChart(machine)), 'a')).toContain('x&lt;&amp;&gt;y');
  });
});

describe('the comment above a machine', () => {
  const source = readFileSync(new URL('./testing-charts.ts', import.meta.url), 'utf8');

  it('gives the purpose and the numbered invariants, over several lines too', () => {
    expect(readChartDoc(source, 'station')).toEqual({
      purpose: 'Charges cars while the grid gives power.',
      invariants: [
        { number: 'ST1', text: 'At most two tries to open the grid, however they fail.' },
        { number: 'ST2', text: 'A car is charged once at a time, and is let go when it is full.' },
      ],
    });
  });

  it('must be there', () => {
    const bare = 'export const lonelyMachine = {};';
    expect(() => readChartDoc(bare, 'lonely.machine.ts')).toThrow(
      'lonely.machine.ts: the machine needs',
    );
  });

  it('leads the page that a person opens first', () => {
    const doc = readChartDoc(source, 'station');
    const page = toReadme([{ name: 'station', doc, chart: station, hasEdges: true }]);
    expect(page).toContain(
      '| [station](#station) | Charges cars while the grid gives power. | 7 |',
    );
    expect(page).toContain('- **ST1** At most two tries');
    expect(page).toContain('Invokes: `openGrid`, `watchGrid`.');
    expect(page).toContain('![Statechart of station](station.svg)');
    expect(page).toContain('(station.edges.tsv)');
  });
});
