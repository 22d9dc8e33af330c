import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundText, renderResult } from '../../src/mcp/results.ts';

const limits = { errorTextBytesMax: 8_192, resourceTextBytesMax: 100, resultTextBytesMax: 1_000 };
const text = (said: string) => ({ type: 'text' as const, text: said });

describe('a rendered result', () => {
  it('prefers the structured content, indented', () => {
    const result = { content: [text('ignored')], structuredContent: { n: 1 } };
    expect(renderResult(result, limits)).toEqual({ text: '{\n  "n": 1\n}', isError: false });
  });

  it('joins the parts by line breaks and tells what is not text', () => {
    const result = renderResult(
      {
        content: [
          text('one'),
          { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' },
          { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
          { type: 'resource_link', uri: 'file:///a', name: 'a' },
          { type: 'resource', resource: { uri: 'file:///b', text: 'inline' } },
          { type: 'resource', resource: { uri: 'file:///c', blob: 'aGk=', mimeType: 'x/y' } },
        ],
      },
      limits,
    );
    expect(result.text.split('\n')).toEqual([
      'one',
      '[Image: image/png (8)]',
      '[Audio: audio/wav (4)]',
      '[Resource link: a <file:///a>]',
      'inline',
      '[Resource: file:///c x/y (4)]',
    ]);
  });

  it('is empty for no content', () => {
    expect(renderResult({ content: [] }, limits)).toEqual({ text: '', isError: false });
  });

  it('bounds the text of a resource', () => {
    const resource = { uri: 'file:///b', text: 'x'.repeat(500) };
    const { text: said } = renderResult({ content: [{ type: 'resource', resource }] }, limits);
    expect(said).toBe(`${'x'.repeat(75)}\n… 400 bytes omitted …\n${'x'.repeat(25)}`);
  });

  it('marks an error, bounded to 8 KiB of head and tail', () => {
    const said = `${'h'.repeat(10_000)}${'t'.repeat(10_000)}`;
    const result = renderResult({ content: [text(said)], isError: true }, limits);
    expect(result.isError).toBe(true);
    expect(result.text).toBe(
      `Tool returned an error: ${'h'.repeat(6_144)}\n… 11808 bytes omitted …\n${'t'.repeat(2_048)}`,
    );
  });

  it('marks an error that is structured', () => {
    const result = { content: [], structuredContent: { code: 7 }, isError: true };
    expect(renderResult(result, limits).text).toBe('Tool returned an error: {\n  "code": 7\n}');
  });
});

describe('a bounded text', () => {
  it('keeps whole characters, within its bytes, from both ends', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.integer({ min: 8, max: 60 }),
        (said, max) => {
          const bounded = boundText(said, max);
          if (Buffer.byteLength(said) <= max) {
            expect(bounded).toBe(said);
            return;
          }
          const [head = '', tail = ''] = bounded.split(/\n… \d+ bytes omitted …\n/);
          expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(max);
          expect(said.startsWith(head)).toBe(true);
          expect(said.endsWith(tail)).toBe(true);
          expect(bounded.includes('\uFFFD')).toBe(said.includes('\uFFFD'));
        },
      ),
    );
  });
});
