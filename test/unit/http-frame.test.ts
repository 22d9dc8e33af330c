import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dataFrame, HEARTBEAT, retryLine } from '../../src/http/frame.ts';

describe('frames of server-sent events', () => {
  it('puts the id after the data, so that a frame that is cut gives no id away', () => {
    expect(dataFrame('{"a":1}', { event: 'started', id: 7 })).toBe(
      'event: started\ndata: {"a":1}\nid: 7\n\n',
    );
  });

  it('leaves out the lines that are not asked for', () => {
    expect(dataFrame('[DONE]')).toBe('data: [DONE]\n\n');
  });

  it('keeps the id 0', () => {
    expect(dataFrame('{}', { id: 0 })).toBe('data: {}\nid: 0\n\n');
  });

  it('keeps data that begins with a colon as data', () => {
    expect(dataFrame(': no comment')).toBe('data: : no comment\n\n');
  });

  it.each(['\n', '\r', '\r\n', '\0'])(
    'refuses a value that holds %j, and names the field',
    (bad) => {
      expect(() => dataFrame(`a${bad}b`)).toThrow(/data of a frame/);
      expect(() => dataFrame('{}', { event: `a${bad}b` })).toThrow(/event of a frame/);
      expect(() => dataFrame('{}', { id: `1${bad}2` })).toThrow(/id of a frame/);
    },
  );

  it('has a heartbeat and a retry line of one newline each', () => {
    expect(HEARTBEAT).toBe(': heartbeat\n');
    expect(retryLine(1_000)).toBe('retry: 1000\n');
  });

  it.each([-1, 0.5, Number.NaN])('refuses to tell clients to retry after %s', (ms) => {
    expect(() => retryLine(ms)).toThrow(/whole number/);
  });

  it('is read back by a parser as it was written, with heartbeats between', () => {
    const line = fc.string().filter((text) => !/[\r\n\0]/.test(text));
    const frame = fc.record({ data: line, id: fc.nat() });
    fc.assert(
      fc.property(fc.array(frame), (frames) => {
        const read: { data: string; id: number }[] = [];
        const parser = createParser({
          onEvent: ({ data, id }) => read.push({ data, id: Number(id) }),
        });
        for (const { data, id } of frames) parser.feed(HEARTBEAT + dataFrame(data, { id }));
        expect(read).toEqual(frames);
      }),
    );
  });
});
