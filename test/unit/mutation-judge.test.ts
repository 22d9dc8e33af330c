import { describe, expect, it } from 'vitest';
import { judge, survivors } from '../mutation/judge.ts';
import type { Layer, Outcome, Suites } from '../mutation/layers.ts';
import type { Mutant } from '../mutation/mutant.ts';
import { jsonOf, lineOf, tableOf } from '../mutation/report.ts';
import { suiteOutcome } from '../mutation/suite-run.ts';

const MUTANT: Mutant = { name: 'a-bug', says: 'it is wrong', file: 'a.ts', edits: [['a', 'b']] };
const ORDER: readonly Layer[] = ['model', 'property', 'types', 'integration'];
const SUITES: Suites = { types: [], model: ['m'], property: ['p'], integration: ['i'] };
const PASSED: Outcome = { kind: 'passed' };
const FAILED: Outcome = { kind: 'failed', by: 'm.test.ts: sees | it' };

/** Judges the mutant by what each layer is made to say, and tells which layers were asked. */
async function judged(said: Partial<Record<Layer, Outcome>>, { quick = false } = {}) {
  const asked: Layer[] = [];
  const verdict = await judge(MUTANT, {
    suites: SUITES,
    order: ORDER,
    quick,
    run: (layer) => {
      asked.push(layer);
      return Promise.resolve(said[layer] ?? PASSED);
    },
  });
  return { asked, verdict };
}

describe('the verdict on a mutant', () => {
  it('asks every layer, and integration only about what the others let through', async () => {
    const { asked, verdict } = await judged({ model: FAILED, types: FAILED });
    expect(asked).toEqual(['model', 'property', 'types']);
    expect(verdict.killedBy).toEqual(['types', 'model']);
    expect((await judged({})).asked).toEqual(ORDER);
  });

  it('stops at the first layer that kills when it is to be quick', async () => {
    const { asked, verdict } = await judged({ property: FAILED }, { quick: true });
    expect(asked).toEqual(['model', 'property']);
    expect(verdict.killedBy).toEqual(['property']);
  });

  it('passes over layers that no suite of the file belongs to', async () => {
    const run = () => Promise.resolve(PASSED);
    const verdict = await judge(MUTANT, { suites: {}, order: ORDER, quick: false, run });
    expect(verdict.outcomes).toEqual({});
    expect(survivors([verdict])).toEqual([verdict]);
  });

  it('counts a suite that hangs as a kill', async () => {
    const { verdict } = await judged({ model: { kind: 'hung' } });
    expect(survivors([verdict])).toEqual([]);
    expect(lineOf(verdict)).toContain('model suites hang');
  });

  it('counts a suite that fails anyway as nothing', async () => {
    const { verdict } = await judged({ model: { kind: 'red', by: 'm.test.ts: is broken' } });
    expect(survivors([verdict])).toEqual([verdict]);
    expect(tableOf([verdict])).toContain('| – |  |  |  | ? | – |  | – |');
  });
});

describe('the report on mutants', () => {
  it('says which have survived', async () => {
    const { verdict } = await judged({});
    expect(lineOf(verdict)).toBe('SURVIVED  a-bug (a.ts)');
    expect(JSON.parse(jsonOf([verdict]))).toMatchObject({
      mutants: [{ name: 'a-bug', killed: false, killedBy: [], outcomes: { model: PASSED } }],
    });
    expect(tableOf([verdict])).toContain('| **a-bug**: it is wrong | – |  |  |  | – | – |  | – |');
  });

  it('shows which layers have killed and which test was the first', async () => {
    const { verdict } = await judged({ model: FAILED });
    const table = tableOf([verdict]);
    expect(table).toContain('| **a-bug**: it is wrong | – |  |  |  | **x** | – |  |  |');
    expect(table).toContain('- a-bug (`a.ts`): m.test.ts: sees | it');
    expect(JSON.parse(jsonOf([verdict]))).toMatchObject({
      mutants: [{ killed: true, killedBy: ['model'] }],
    });
  });
});

describe('how suites ended', () => {
  const good = { name: '/w/test/a.test.ts', status: 'passed', message: '', assertionResults: [] };
  const failing = {
    name: '/w/test/b.test.ts',
    status: 'failed',
    message: '',
    assertionResults: [
      { status: 'passed', fullName: 'is fine' },
      { status: 'failed', fullName: 'sees it' },
    ],
  };

  it('is told by the exit code', () => {
    expect(suiteOutcome('/w', { status: 0 }, [good])).toEqual(PASSED);
    expect(suiteOutcome('/w', { status: null }, [failing])).toEqual({ kind: 'hung' });
  });

  it('names the test that failed first', () => {
    const by = 'test/b.test.ts: sees it';
    expect(suiteOutcome('/w', { status: 1 }, [good, failing])).toEqual({ kind: 'failed', by });
  });

  it('passes over files that were given up because of it', () => {
    const givenUp = { ...failing, name: '/w/test/a.test.ts', assertionResults: [] };
    const by = 'test/b.test.ts: sees it';
    expect(suiteOutcome('/w', { status: 1 }, [givenUp, failing])).toEqual({ kind: 'failed', by });
  });

  it('names the file that could not be loaded', () => {
    const broken = { ...failing, message: 'no such export\n at', assertionResults: [] };
    const by = 'test/b.test.ts: no such export';
    expect(suiteOutcome('/w', { status: 1 }, [broken])).toEqual({ kind: 'failed', by });
  });

  it('is a failure though no test is to blame', () => {
    expect(suiteOutcome('/w', { status: 1 }, [])).toEqual({ kind: 'failed', by: 'vitest itself' });
  });
});
