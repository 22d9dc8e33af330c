import { beforeAll, describe, expect, it } from 'vitest';
import { runMachine } from '../../machines/run.machine.ts';
import { toDot } from '../../src/diagrams/dot.ts';
import { describeChart, statesOf } from '../../src/diagrams/model.ts';
import { toSvg } from '../../src/diagrams/svg.ts';
import { chartAt } from '../../src/explain/chart.ts';
import { idsOf, markStates } from '../../src/explain/mark-states.ts';
import { runPicture } from '../../src/explain/run-picture.ts';
import { liveOf, living, Tale } from './explain-kit.ts';

let svg = '';

beforeAll(async () => {
  svg = await toSvg(toDot(describeChart(runMachine)), 'run');
});

const marked = (picture: string): readonly string[] =>
  [...picture.matchAll(/<g id="([^"]+)" class="(?:node|cluster) active">/g)].map(
    ([, id]) => id as string,
  );

describe('the picture of a run’s chart', () => {
  it('carries the id of every state', () => {
    const ids = statesOf(describeChart(runMachine)).map(({ id }) => id);
    const drawn = [...svg.matchAll(/<g id="([^"]+)"/g)].map(([, id]) => id);
    // The root is the picture itself.
    expect(drawn).toEqual(expect.arrayContaining(ids.filter((id) => id !== 'run')));
  });

  it('is marked at the active states and those around them, and nowhere else', () => {
    const ids = idsOf('run', ['live.work.begun.preparing', 'live.parking.unasked']);
    const picture = markStates(svg, ids);
    expect([...marked(picture)].sort()).toEqual([...ids].sort());
    expect(picture.replace(/ active"/g, '"').length).toBeGreaterThan(svg.length);
    expect(markStates(svg, new Set())).toBe(svg);
  });

  it('fills the innermost active states alone, so that what is around them stays readable', () => {
    const filled = (picture: string) => picture.split('#ffe3a3').length - 1;
    const picture = markStates(svg, idsOf('run', ['live.work.begun.preparing']));
    expect(filled(picture)).toBe(1);
  });

  it('is well-formed after marking: each element has each attribute once', () => {
    const picture = markStates(
      svg,
      new Set([...svg.matchAll(/<g id="(run[^"]+)"/g)].map(([, id]) => id as string)),
    );
    for (const [element] of picture.matchAll(/<[a-z][^>]*>/g)) {
      const names = [...element.matchAll(/ ([\w:-]+)="/g)].map(([, name]) => name);
      expect(new Set(names).size, element).toBe(names.length);
    }
  });

  it('is there where the product looks for it', async () => {
    expect(await runPicture()).toMatch(/^<svg /);
  });
});

describe('the chart of a run', () => {
  /** Started, connected, in its first turn, and out of it. */
  function told(): Tale {
    const tale = new Tale();
    tale.step({ from: null, to: 'idle' });
    tale.step({ from: 'idle', to: 'live.{work.begun.preparing, parking.unasked}' });
    tale.step({ chart: 'claims', actor: 'claims', from: null, to: 'claimed' });
    tale.started();
    tale.step({ to: 'live.{work.begun.stepping.turning, parking.unasked}' });
    tale.step({ chart: 'turn', actor: 'turn', from: null, to: 'calling.connecting' });
    tale.call('c1', 'search');
    tale.step({ chart: 'turn', actor: 'turn', to: 'answered', ended: true });
    tale.step({ to: 'settling' });
    return tale.ends({ type: 'finished' }, 'agent');
  }

  const at = (tale: Tale, seq: number) =>
    chartAt({ ...tale.facts(), svg, entry: tale.entries[seq - 1] });

  it('is as it was when an entry was written', () => {
    const chart = at(told(), 1);
    expect(chart.seq).toBe(1);
    expect(chart.states).toEqual({
      run: ['live.work.begun.preparing', 'live.parking.unasked'],
      claims: ['claimed'],
    });
  });

  it('has the steps that came before an entry of the same moment, and none of those after', () => {
    // All of it happens within one millisecond: only numbers can tell.
    const tale = told();
    expect(at(tale, 2).states).toEqual({
      run: ['live.work.begun.stepping.turning', 'live.parking.unasked'],
      claims: ['claimed'],
      turn: ['calling.connecting'],
    });
    expect(at(tale, 4).states).toEqual({ run: ['settling'], claims: ['claimed'] });
  });

  it('is marked in the picture as it was then', () => {
    expect(marked(at(told(), 2).svg)).toContain('run.live.work.begun.stepping.turning');
    expect(marked(at(told(), 4).svg)).toEqual(['run.settling']);
  });

  it('is what the charts say while the run lives', () => {
    const chart = (actor: string, state: string) => ({
      chart: 'toolCall',
      actor,
      states: [state],
      tags: [],
      refusing: [],
    });
    const live = liveOf({ charts: [chart('tool.c1', 'running'), chart('tool.c2', 'gated')] });
    const now = chartAt({ ...living('running').facts({ live }), svg });
    expect(now).toMatchObject({ seq: null, states: { toolCall: ['running', 'gated'] } });
  });

  it('is at its end when the run is over', () => {
    const now = chartAt({ ...told().facts(), svg });
    expect(now.states).toEqual({ run: ['ended'] });
    expect(marked(now.svg)).toEqual(['run.ended']);
  });

  it('is not known for an entry of a run without a log', () => {
    const chart = chartAt({
      ...told().facts(),
      transitions: undefined,
      svg,
      entry: { seq: 1, at: 0 },
    });
    expect(chart.states).toEqual({});
    expect(chart.svg).toBe(svg);
  });
});
