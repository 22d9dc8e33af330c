import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import {
  cancelled,
  failed,
  finished,
  projected as project,
  text,
  toolComplete,
  toolRequested,
} from '../support/chat-journal.ts';

const HEAD =
  'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,' +
  '"model":"scripted/echo","choices":[{"index":0,"delta":{';
const USAGE = '"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}';

const chunk = (delta: string): string => `${HEAD}${delta}}}]}\n\n`;
const final = (reason: string): string => `${HEAD}},"finish_reason":"${reason}"}],${USAGE}}\n\n`;
const call = (args: string, index = 0, id = 'call_1', name = 'list_files'): string =>
  `"tool_calls":[{"index":${index},"id":"${id}","type":"function",` +
  `"function":{"name":"${name}","arguments":${JSON.stringify(args)}}}]`;

describe('chat projection: text', () => {
  it('puts the role on the first chunk and the finish reason and usage on the last', () => {
    expect(project([text('Hel'), text('lo "you"\n'), finished()])).toBe(
      chunk('"role":"assistant","content":"Hel"') +
        chunk('"content":"lo \\"you\\"\\n"') +
        final('stop'),
    );
  });

  it('writes an empty answer as a role and an end', () => {
    expect(project([finished()])).toBe(chunk('"role":"assistant"') + final('stop'));
  });

  it('makes no chunk of empty text', () => {
    expect(project([text(''), text('a')])).toBe(chunk('"role":"assistant","content":"a"'));
  });

  it('leaves usage out when the provider told none', () => {
    const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    expect(project([text('a'), finished(none)])).toMatch(/"finish_reason":"stop"}\]}\n\n$/);
  });

  it('sets text after a tool result apart, once', () => {
    const events = [text('a'), toolRequested(), toolComplete(), text('b'), text('c')];
    expect(project(events, { toolMode: 'hidden' })).toBe(
      chunk('"role":"assistant","content":"a"') +
        chunk('"content":"\\n\\nb"') +
        chunk('"content":"c"'),
    );
  });

  it('does not begin with a blank line when the calls before it are hidden', () => {
    const events = [toolRequested(), toolComplete(), text('b'), toolComplete('c'), text('d')];
    expect(project(events, { toolMode: 'hidden' })).toBe(
      chunk('"role":"assistant","content":"b"') + chunk('"content":"\\n\\nd"'),
    );
    // Where the call is shown, AURA's clients expect the text apart from it.
    expect(project(events, { toolMode: 'none' })).toContain('"content":"\\n\\nb"');
  });

  it("ends for its length when the completion reached the request's limit", () => {
    expect(project([finished()], { tokensMax: 5 })).toContain(final('length'));
    expect(project([finished()], { tokensMax: 6 })).toContain(final('stop'));
  });

  it('sends nothing after the end', () => {
    expect(project([finished(), text('late')])).not.toContain('late');
  });

  it('passes over lifecycle entries and types it does not know', () => {
    const unknown = { type: 'from_the_future', text: 'x' } as unknown as JournalEvent;
    expect(
      project([{ type: 'claims_exhausted', grace_ms: 0 }, unknown], { customEvents: true }),
    ).toBe('');
  });
});

describe('chat projection: tools that the server runs', () => {
  const events = [toolRequested(), toolComplete()];

  it.each([
    { toolMode: 'none', frames: chunk(`"role":"assistant",${call('{"path":"/tmp"}')}`) },
    { toolMode: 'aura', frames: chunk(`"role":"assistant",${call('{"path":"/tmp"}')}`) },
    {
      toolMode: 'open-web-ui',
      frames: chunk(`"role":"assistant",${call('')}`) + chunk(call('"a \\"b\\""', 0, 'call_1', '')),
    },
    { toolMode: 'hidden', frames: '' },
  ] as const)('shows a call in mode $toolMode', ({ toolMode, frames }) => {
    expect(project(events, { toolMode })).toBe(frames);
  });

  it('counts indexes over the whole response', () => {
    const frames = project([toolRequested('a'), toolRequested('b'), toolRequested('c')]);
    expect([...frames.matchAll(/"index":(\d),"id"/g)].map((match) => match[1])).toEqual([
      '0',
      '1',
      '2',
    ]);
  });

  it('gives a result the index of its call, whatever the order of the ends', () => {
    const parallel = [toolRequested('a'), toolRequested('b'), toolComplete('b'), toolComplete('a')];
    const frames = project(parallel, { toolMode: 'open-web-ui' });
    expect(frames).toContain(call('"a \\"b\\""', 1, 'b', ''));
    expect(frames).toContain(call('"a \\"b\\""', 0, 'a', ''));
  });

  it('shows the error of a failed tool as its result to Open WebUI, cut to the limit', () => {
    const failure = toolComplete('call_1', { success: false, error: 'Tool returned an error: no' });
    const options = { toolMode: 'open-web-ui', toolResultBytesMax: 8 } as const;
    expect(project([toolRequested(), failure], options)).toContain(
      call('"Tool re... [truncated]', 0, 'call_1', ''),
    );
  });
});

describe('chat projection: tools that the caller runs', () => {
  it.each(['none', 'aura', 'open-web-ui', 'hidden'] as const)(
    'sends their arguments in mode %s and ends with tool_calls',
    (toolMode) => {
      const events = [toolRequested('call_1', { client: true }), cancelled('client_tool')];
      expect(project(events, { toolMode })).toBe(
        chunk(`"role":"assistant",${call('{"path":"/tmp"}')}`) + final('tool_calls'),
      );
    },
  );

  it("keeps indexes dense when the server's calls are hidden", () => {
    const events = [toolRequested('a'), toolRequested('b', { client: true })];
    expect(project(events, { toolMode: 'hidden' })).toContain(call('{"path":"/tmp"}', 0, 'b'));
  });
});

describe('chat projection: ends without an answer', () => {
  const errorFrame = (frames: string): Record<string, unknown> => {
    const [, data] = /event: error\ndata: (.*)\n\n$/.exec(frames) ?? [];
    return (JSON.parse(data ?? '{}') as { error: Record<string, unknown> }).error;
  };

  it('tells a deadline as an error frame and no finish reason', () => {
    const frames = project([
      text('par'),
      cancelled('deadline', { which: 'inactivity', after_ms: 9000 }),
    ]);
    expect(frames).toBe(
      chunk('"role":"assistant","content":"par"') +
        'event: error\ndata: {"error":{"message":"The model fell silent (after 9 s).",' +
        '"type":"deadline_exceeded","code":"deadline_inactivity"}}\n\n',
    );
  });

  it("says a provider's failure in words that name the model, set apart from the answer", () => {
    const frames = project([text('par'), failed('provider_error')]);
    expect(frames).toContain('"content":"\\n\\n`scripted/echo` reported an error');
    expect(frames).not.toContain('Upstream says');
    expect(frames).not.toContain('finish_reason');
    expect(errorFrame(frames)['code']).toBe('provider_error');
  });

  it('gives the role to a sentence that is all there is', () => {
    expect(project([failed('provider_error')])).toContain(
      '"role":"assistant","content":"`scripted',
    );
  });

  it("shows the provider's own words where that is configured, cut to 500 characters", () => {
    const frames = project([failed('provider_error', '€'.repeat(501))], {
      debugProviderErrors: true,
    });
    expect(frames).toContain(`"content":"${'€'.repeat(500)}…"`);
  });
});
