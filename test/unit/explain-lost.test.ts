import { describe, expect, it } from 'vitest';
import type { Recovery } from '../../src/explain/facts.ts';
import { links, living, Tale } from './explain-kit.ts';

const LOST = {
  type: 'failed',
  error: { code: 'owner_lost', message: 'Lost.', retryable: true },
} as const;

const recovery = (change: Partial<Recovery> = {}): Recovery => ({
  recover: 'resume',
  recoveries: 0,
  recoveriesMax: 3,
  ...change,
});

const under = (policy: 'cancel' | 'continue' | 'park'): Tale =>
  new Tale({ liveness: { policy, grace_ms: 0 } }).started();

describe('why a run failed with its process', () => {
  it('is the last sign of life, what was open then, and why it was not brought back', () => {
    const told = under('cancel').call('c1', 'search').wait(65_000);
    told.answer('c1', 'search', false);
    const why = told.ends(LOST, 'supervisor', [3]).explain({ transitions: undefined });
    expect(links(why)).toEqual(['entry 3', 'timer', 'entry 5']);
    expect(why.prose.slice(1)).toEqual([
      'The last that the lost process told of the run is the entry 3, and 1 min 5 s later it was ' +
        'found without an owner.',
      'The process that had the run was lost before the run ended, so it was settled as failed ' +
        '(owner_lost) after 1 min 5 s (seq 5).',
      'It was not brought back, because its policy is cancel.',
      'The log of its transitions went with its process.',
    ]);
  });

  it.each<[string, Recovery, string]>([
    [
      'its configuration',
      recovery({ recover: 'fail' }),
      'It was not brought back: this server does not do that (crash.recover = "fail").',
    ],
    [
      'its attempts',
      recovery({ recoveries: 3 }),
      'It was not brought back: that was done 3 times already, and a run that loses its process ' +
        'each time is not brought back for ever.',
    ],
  ])('is said by %s, which is a guard that said no', (_, known, sentence) => {
    const why = under('continue').ends(LOST, 'supervisor').explain({ recovery: known });
    expect(why.prose.at(-1)).toBe(sentence);
    expect(why.blocked_by).toMatchObject([{ chart: 'orphan', guard: 'mayResume' }]);
  });

  it('is that it was being stopped', () => {
    const told = under('park').stopping('shutdown', 1).ends(LOST, 'supervisor');
    const { prose } = told.explain({ recovery: recovery({ recover: 'fail' }) });
    expect(prose.at(-1)).toBe('It was not brought back, because it was being stopped already.');
  });

  it('is what decides it, where no more is known', () => {
    const why = under('park').ends(LOST, 'supervisor').explain({ recovery: recovery() });
    expect(why.prose.at(-1)).toContain('that takes a checkpoint that can be read');
    expect(why.blocked_by).toEqual([]);
  });
});

describe('a run that has no end and is not in this process', () => {
  it('is said to be elsewhere or lost, with what it told of last', () => {
    const told = living('running').started().call('c1', 'search').wait(60_000);
    const why = told.explain({ away: 'elsewhere' });
    expect(links(why)).toEqual(['entry 1', 'entry 3']);
    expect(why.prose[1]).toContain('The tool search (c1) had been begun and had no result');
    expect(why.prose.at(-2)).toContain('This process does not have the run');
    expect(why.prose.join()).not.toContain('has been');
  });

  it('is said since when nothing was told of it', () => {
    const told = living('running').started().call('c1', 'search').answer('c1', 'search');
    const { prose } = told.wait(60_000).explain({ away: 'elsewhere' });
    expect(prose[1]).toBe('The last step that it told of came 1 min ago (seq 4).');
  });

  it('is said to have its end stored yet, where it was here', () => {
    const { prose } = living('running').started().explain({ away: 'unsettled' });
    expect(prose.at(-1)).toContain('the store has not taken its end yet');
  });
});
