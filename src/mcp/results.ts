import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import type { ToolResult } from '../tool.ts';
import type { Redact } from './redact.ts';

export interface ResultLimits {
  readonly errorTextBytesMax: number;
  readonly resourceTextBytesMax: number;
  readonly resultTextBytesMax: number;
}

/** Clients of this wire recognise a tool's own error by these words. */
const ERROR_PREFIX = 'Tool returned an error: ';

/**
 * What the model reads of a result: the structured content as indented JSON where there is some,
 * else the parts, one a line. A tool's own error is marked as one, cut in the middle, and `redact`ed:
 * errors like to repeat what they were sent.
 */
export function renderResult(
  result: CallToolResult,
  limits: ResultLimits,
  redact: Redact = (text) => text,
): ToolResult {
  const text =
    result.structuredContent === undefined
      ? result.content.map((part) => renderPart(part, limits)).join('\n')
      : JSON.stringify(result.structuredContent, null, 2);
  if (result.isError === true) {
    return {
      text: ERROR_PREFIX + boundText(redact(text), limits.errorTextBytesMax),
      isError: true,
    };
  }
  return { text: boundText(text, limits.resultTextBytesMax), isError: false };
}

function renderPart(part: ContentBlock, limits: ResultLimits): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
      return `[Image: ${part.mimeType} (${part.data.length})]`;
    case 'audio':
      return `[Audio: ${part.mimeType} (${part.data.length})]`;
    case 'resource_link':
      return `[Resource link: ${part.name} <${part.uri}>]`;
    case 'resource':
      return renderResource(part.resource, limits);
    default:
      return unsupported(part);
  }
}

/** Exhaustive over the SDK's union; a newer server may still send what it does not know. */
const unsupported = (part: never): string =>
  `[Unsupported content: ${String((part as { type?: unknown }).type)}]`;

type ResourceContents = Extract<ContentBlock, { type: 'resource' }>['resource'];

function renderResource(resource: ResourceContents, limits: ResultLimits): string {
  if ('text' in resource) return boundText(resource.text, limits.resourceTextBytesMax);
  const mime = resource.mimeType ?? 'application/octet-stream';
  return `[Resource: ${resource.uri} ${mime} (${resource.blob.length})]`;
}

/**
 * At most `bytesMax` bytes of UTF-8: three quarters from the head, the rest from the tail, and a note
 * between them that says what is missing and is not counted.
 */
export function boundText(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  const headEnd = characterStart(bytes, Math.floor((bytesMax * 3) / 4));
  const tailStart = characterEnd(bytes, bytes.length - (bytesMax - Math.floor((bytesMax * 3) / 4)));
  const omitted = tailStart - headEnd;
  return `${bytes.toString('utf8', 0, headEnd)}\n… ${omitted} bytes omitted …\n${bytes.toString('utf8', tailStart)}`;
}

const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;

/** Backwards to where a character begins, so that none is cut in two. */
function characterStart(bytes: Buffer, at: number): number {
  let index = at;
  while (index > 0 && isContinuation(bytes[index])) index -= 1;
  return index;
}

function characterEnd(bytes: Buffer, at: number): number {
  let index = at;
  while (index < bytes.length && isContinuation(bytes[index])) index += 1;
  return index;
}
