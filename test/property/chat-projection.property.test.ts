import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChatProjection, type ProjectionOptions } from '../../src/http/chat/projection.ts';
import { textJsonOf } from '../../src/http/chat/text-json.ts';
import { truncate } from '../../src/http/chat/truncate.ts';
import type { JournalEvent } from '../../src/journal/events.ts';
import {
  cancelled,
  entriesOf,
  failed,
  finished,
  PROJECTION,
  toolComplete,
  toolRequested,
} from '../support/chat-journal.ts';
import { FakeJournal } from '../support/fake-journal.ts';

/** Text that looks like the wire, the envelope, or nothing sensible. */
const nasty = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '"', '\\', '\n\n', 'data: [DONE]\n\n', '\ud800', '\u2028', '"}}}', '}}}'),
  fc.constant('"event":{"type":"text_delta","text":"'),
);

const toolId = fc.constantFrom('a', 'b', 'c', '"x"\n');

/** Weighted towards text: the border between text and tools is where the chunks differ. */
const event: fc.Arbitrary<JournalEvent> = fc.oneof(
  { weight: 6, arbitrary: nasty.map((text): JournalEvent => ({ type: 'text_delta', text })) },
  { weight: 1, arbitrary: nasty.map((content): JournalEvent => ({ type: 'reasoning', content })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(toolId, nasty)
      .map(([id, text]) => toolRequested(id, { arguments_text: text })),
  },
  { weight: 1, arbitrary: toolId.map((id) => toolRequested(id, { client: true })) },
  {
    weight: 2,
    arbitrary: fc.tuple(toolId, nasty).map(([id, result]) => toolComplete(id, { result })),
  },
  { weight: 1, arbitrary: toolId.map((id) => toolComplete(id, { success: false, error: 'no' })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<JournalEvent>(
      { type: 'session_info', model: 'scripted/echo' },
      { type: 'tool_start', tool_id: 'a', tool_name: 'list_files' },
      { type: 'tool_progress', tool_id: 'a', message: 'half', phase: 'mcp_progress' },
      { type: 'usage', prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      { type: 'stopping', cause: 'external', obligations: 1 },
    ),
  },
);

const end: fc.Arbitrary<JournalEvent> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(finished()) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom('external', 'shutdown', 'deadline', 'client_tool', 'superseded')
      .map((reason) => cancelled(reason as 'external')),
  },
  { weight: 2, arbitrary: nasty.map((message) => failed('provider_error', message)) },
  { weight: 1, arbitrary: fc.constant(failed('internal_error')) },
);

const history = fc
  .tuple(fc.array(event, { maxLength: 25 }), end)
  .map(([events, last]) => [...events, last]);

const options: fc.Arbitrary<ProjectionOptions> = fc
  .record({
    toolMode: fc.constantFrom('none', 'aura', 'open-web-ui', 'hidden'),
    customEvents: fc.boolean(),
    emitReasoning: fc.boolean(),
    toolResultBytesMax: fc.constantFrom(0, 1, 5, 1000),
    sessionId: nasty,
  })
  .map((change) => ({ ...PROJECTION, ...change }));

interface Frame {
  readonly name: string | undefined;
  readonly data: Record<string, unknown> & { choices?: Choice[]; error?: unknown };
}

interface Choice {
  readonly index: number;
  readonly finish_reason?: string;
  readonly delta: {
    readonly role?: string;
    readonly content?: string;
    readonly tool_calls?: readonly {
      readonly index: number;
      readonly function: { name: string };
    }[];
  };
}

function wireOf(events: readonly JournalEvent[], chosen: ProjectionOptions): string {
  const projection = new ChatProjection(chosen);
  return entriesOf(...events)
    .map((entry) => projection.frames(entry))
    .join('');
}

function framesOf(wire: string): Frame[] {
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ event: name, data }) =>
      frames.push({ name, data: JSON.parse(data) as Frame['data'] }),
    onError: (error) => {
      throw error;
    },
  });
  parser.feed(wire);
  return frames;
}

const choicesOf = (frames: readonly Frame[]): Choice[] =>
  frames.flatMap(({ name, data }) => (name === undefined ? (data.choices ?? []) : []));

/** The deltas, with a blank line where text follows a tool's result, or text before a hidden one. */
function expectedText(
  events: readonly JournalEvent[],
  { toolMode }: Pick<ProjectionOptions, 'toolMode'>,
): string {
  let text = '';
  let afterTool = false;
  for (const one of events) {
    if (one.type === 'tool_complete') afterTool = toolMode !== 'hidden' || text !== '';
    if (one.type !== 'text_delta' || one.text === '') continue;
    text += afterTool ? `\n\n${one.text}` : one.text;
    afterTool = false;
  }
  return text;
}

describe('chat projection: any journal', () => {
  it('gives every text delta, in order, and a failure nothing but its sentence behind them', () => {
    fc.assert(
      fc.property(history, options, (events, chosen) => {
        const text = choicesOf(framesOf(wireOf(events, chosen)))
          .map(({ delta }) => delta.content ?? '')
          .join('');
        const last = events.at(-1);
        if (last?.type !== 'failed') expect(text).toBe(expectedText(events, chosen));
        else expect(text.startsWith(expectedText(events, chosen))).toBe(true);
      }),
    );
  });

  it('writes chunks that the strictest client takes', () => {
    fc.assert(
      fc.property(history, options, (events, chosen) => {
        const frames = framesOf(wireOf(events, chosen));
        const choices = choicesOf(frames);
        const roles = choices.map(({ delta }) => delta.role);
        expect(
          roles.every((role, at) => (at === 0 ? role === 'assistant' : role === undefined)),
        ).toBe(true);
        const last = events.at(-1);
        const isAnswer =
          last?.type === 'finished' ||
          (last?.type === 'cancelled' && last.reason === 'client_tool');
        const reasons = choices.filter(({ finish_reason }) => finish_reason !== undefined);
        expect(reasons).toEqual(isAnswer ? [choices.at(-1)] : []);
        expect(frames.filter(({ name }) => name === 'error').length).toBe(isAnswer ? 0 : 1);
        const calls = choices
          .flatMap(({ delta }) => delta.tool_calls ?? [])
          .filter((call) => call.function.name !== '');
        expect(calls.map(({ index }) => index)).toEqual(calls.map((_, at) => at));
      }),
    );
  });

  it('gives every aura event an empty list of choices and, but for a failed tool, no error', () => {
    fc.assert(
      fc.property(history, options, (events, chosen) => {
        for (const { name, data } of framesOf(wireOf(events, chosen))) {
          if (!name?.startsWith('aura.')) continue;
          expect(data.choices).toEqual([]);
          if (name !== 'aura.tool_complete') expect(data).not.toHaveProperty('error');
        }
      }),
    );
  });
});

describe('text of an entry', () => {
  it('is the same cut out of the envelope as written again', () => {
    fc.assert(
      fc.property(nasty, nasty, nasty, (sessionId, runId, text) => {
        const entry = new FakeJournal().append(sessionId, runId, { type: 'text_delta', text });
        expect(textJsonOf(entry)).toBe(JSON.stringify(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('does not depend on how the envelope is written', () => {
    fc.assert(
      fc.property(nasty, nasty, (text, extra) => {
        const entry = entriesOf({ type: 'text_delta', text })[0];
        if (entry === undefined) return;
        const written = { type: 'text_delta', text, extra };
        const forms = [
          { payload: { kind: 'agent', event: written } },
          { payload: { event: { text, type: 'text_delta' }, kind: 'agent' } },
          { payload: { kind: 'agent', event: { type: 'text_delta', text } }, note: extra },
        ];
        for (const form of forms) {
          const json = JSON.stringify(form);
          expect(textJsonOf({ ...entry, json })).toBe(JSON.stringify(text));
        }
      }),
    );
  });
});

describe('truncation of any text', () => {
  it('keeps a prefix of whole characters within the limit', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 20 }),
        (text, bytesMax) => {
          const cut = truncate(text, bytesMax);
          if (Buffer.byteLength(text) <= bytesMax) expect(cut).toBe(text);
          else {
            const head = cut.slice(0, -'... [truncated]'.length);
            expect(text.startsWith(head)).toBe(true);
            expect(Buffer.byteLength(head)).toBeLessThanOrEqual(bytesMax);
            expect(Buffer.byteLength(head)).toBeGreaterThan(bytesMax - 4);
          }
        },
      ),
    );
  });
});
