import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OversizedMessageError } from '../../src/mcp/failures.ts';
import { BodyMeter, EventMeter, type MessageMeter } from '../../src/mcp/message-bound.ts';

const passes = (meter: MessageMeter, ...chunks: string[]): boolean => {
  try {
    for (const chunk of chunks) meter.count(Buffer.from(chunk));
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(OversizedMessageError);
    return false;
  }
};

describe('the meter of a body', () => {
  it('lets pass what fits and stops at the first byte over it', () => {
    const meter = new BodyMeter(4);
    expect(passes(meter, '12', '34')).toBe(true);
    expect(passes(meter, '5')).toBe(false);
  });
});

describe('the meter of an event stream', () => {
  it.each(['\n', '\r', '\r\n'])('starts anew after each event, with the line break %j', (br) => {
    const event = `data: 1234${br}${br}`;
    expect(passes(new EventMeter(10), ...Array.from({ length: 50 }, () => event))).toBe(true);
    expect(passes(new EventMeter(9), event)).toBe(false);
  });

  it('counts all lines of one event', () => {
    expect(passes(new EventMeter(15), 'data: 12\ndata: 12\n')).toBe(false);
    expect(passes(new EventMeter(16), 'data: 12\ndata: 12\n')).toBe(true);
  });

  it('lets comments pass for ever, but not one that never ends', () => {
    expect(passes(new EventMeter(10), ...Array.from({ length: 50 }, () => ': ping\n'))).toBe(true);
    expect(passes(new EventMeter(10), `:${'p'.repeat(10)}`)).toBe(false);
  });

  it('comes to the same end however the stream is cut', () => {
    const part = fc.constantFrom('\n', '\r', '\r\n', ':', 'data: x', 'id: 1', '\n\n', 'äö');
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 30 }),
        fc.integer({ min: 1, max: 30 }),
        (parts, max) => {
          const bytes = Buffer.from(parts.join(''));
          const single = [...bytes].map((byte) => Buffer.from([byte]));
          const fits = (chunks: readonly Buffer[]) => {
            const meter = new EventMeter(max);
            try {
              for (const chunk of chunks) meter.count(chunk);
              return true;
            } catch {
              return false;
            }
          };
          expect(fits([bytes])).toBe(fits(single));
          expect(fits([bytes])).toBe(largestEvent(bytes.toString()) <= max);
        },
      ),
    );
  });
});

/** By regular expressions: the largest sum that the meter may see at any byte. */
function largestEvent(text: string): number {
  let largest = 0;
  let event = 0;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const size = Buffer.byteLength(line);
    largest = Math.max(largest, event + size);
    if (size === 0) event = 0;
    else if (!line.startsWith(':')) event += size;
  }
  return largest;
}
