import { foreignServer, type OperatorError } from './errors.ts';
import { networkFailure } from './network.ts';

/** Far above the longest page of records. */
const ANSWER_BYTES_MAX = 67_108_864;

const REMEDY = 'Is a Runwarden there? Check --url.';

/** The whole body. Rejects with {@link OperatorError} when it breaks off or does not end. */
export async function bodyOf({ body }: Response, base: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > ANSWER_BYTES_MAX) throw tooLong(base);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    throw networkFailure(error, base);
  }
}

const tooLong = (base: string): OperatorError =>
  foreignServer(`${base} answered more than ${ANSWER_BYTES_MAX} bytes. Ask for fewer by --limit.`);

export function parsed(text: string, base: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw foreignServer(`${base} answered what is no JSON. ${REMEDY}`);
  }
}

/** The body as a stream of events. Throws {@link OperatorError} for any other type of content. */
export function streamOf({ headers, body }: Response, base: string): AsyncIterable<Uint8Array> {
  const type = headers.get('content-type') ?? '';
  if (body !== null && /^text\/event-stream\b/i.test(type)) return body;
  throw foreignServer(`${base} answered no event stream. ${REMEDY}`);
}
