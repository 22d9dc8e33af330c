import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { Tale } from './explain-kit.ts';

type Complete = Extract<JournalEvent, { type: 'tool_complete' }>;

const ENDED: Complete = {
  type: 'tool_complete',
  tool_id: 'c1',
  tool_name: 'pay',
  duration_ms: 5,
  success: false,
};

/** A run that finished after one call of the tool `pay`, which ended so. */
const after = (end: Partial<Complete>): Tale =>
  new Tale()
    .started()
    .call('c1', 'pay')
    .tell({ ...ENDED, ...end });

const sentence = (told: Tale, more: Parameters<Tale['explain']>[0] = {}) =>
  told.ends({ type: 'finished' }, 'agent').explain(more).prose[1];

const TIMED_OUT = { error: 'ToolCallError: timed out' };

describe('what became of the tool calls of a run', () => {
  it.each<[string, Partial<Complete>]>([
    ['answered', { success: true }],
    ['failed', { error: 'ToolCallError: no' }],
    ['timed out by its own deadline', TIMED_OUT],
    [
      'timed out by its own deadline and did not stop: what it did is not known',
      { ...TIMED_OUT, effect: 'unknown' },
    ],
    ['was denied by a person', { success: true, approval: 'denied' }],
    ['was not approved in time', { approval: 'timed_out' }],
    ['was not approved before it was stopped', { approval: 'cancelled' }],
    ['did not run, because a rule forbids it (rm_*)', { forbidden_by: 'rm_*' }],
  ])('is that one %s', (words, end) => {
    expect(sentence(after(end))).toBe(`The model called the tool pay, which ${words} (seq 4).`);
  });

  it('is that nobody could be asked, or that a webhook denied it', () => {
    const told = (outcome: Parameters<Tale['decides']>[0], end: Partial<Complete>) =>
      new Tale()
        .started()
        .call('c1', 'pay')
        .asks({ route: 'webhook' })
        .decides(outcome, { decided_by: 'webhook' })
        .tell({ ...ENDED, ...end })
        .ends({ type: 'finished' }, 'agent')
        .explain()
        .prose.at(-2);
    expect(told({ kind: 'denied' }, { success: true, approval: 'denied' })).toContain(
      'which was denied by the webhook that was asked',
    );
    expect(told({ kind: 'errored', message: 'no' }, {})).toContain(
      'which did not run, because nobody could be asked to approve it',
    );
  });

  it('is nothing that a question which it asked while it ran would say', () => {
    const origin = { kind: 'elicitation', server: 's', message: 'm', schema: {} } as const;
    const told = new Tale().started().call('c1', 'pay').asks({ origin });
    told.decides({ kind: 'errored', message: 'no' }).tell(ENDED);
    const { prose } = told.ends({ type: 'finished' }, 'agent').explain();
    expect(prose.at(-2)).toContain('which failed');
  });

  it('is that all of several answered', () => {
    const told = after({ success: true }).call('c2', 'pay').answer('c2', 'pay');
    expect(sentence(told)).toBe('The model made 2 tool calls (pay); all of them answered (seq 7).');
  });

  it('is what each of several came to, like ones together', () => {
    const told = after(TIMED_OUT).call('c2', 'fetch').answer('c2', 'fetch', false);
    told.call('c3', 'fetch').answer('c3', 'fetch', false).call('c4', 'ok').answer('c4', 'ok');
    expect(sentence(told)).toBe(
      'The model made 4 tool calls (pay, fetch and ok); pay (c1) timed out by its own deadline; ' +
        'fetch (c2) and fetch (c3) failed (seq 13).',
    );
  });

  it('goes by the log rather than by the words of a tool, also for a very long id', () => {
    const id = 'c'.repeat(200);
    const log = (event: string) =>
      new Tale()
        .started()
        .call(id, 'pay')
        .step({ chart: 'toolCall', actor: `tool.${id}`.slice(0, 95) + '…', event, to: 'stopping' })
        .tell({
          type: 'tool_complete',
          tool_id: id,
          tool_name: 'pay',
          duration_ms: 5,
          success: false,
          ...TIMED_OUT,
        });
    expect(sentence(log('after startToClose'))).toContain('timed out by its own deadline');
    expect(sentence(log('executeTool ended'))).toContain('which failed');
  });

  it('is that the last ended, where the asking was trimmed', () => {
    const told = after({ success: true });
    told.entries.splice(1, 1);
    expect(sentence(told)).toBe('The tool pay ended (seq 4).');
  });
});
