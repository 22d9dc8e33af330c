import { expect } from 'vitest';
import type { Api } from './api-kit.ts';
import type { Exchange } from './system-client.ts';

/** Streams of entries as bytes, and clients that are cut and come back. */

/** What a stream begins with, before its first frame: the time to wait and a heartbeat. */
export const HEAD = 'retry: 1000\n: heartbeat\n';

/** The whole frames of a body, each with its blank line. Heartbeats between frames are left out. */
export function wholeFrames(body: string): readonly string[] {
  const text = body.startsWith('retry: 1000\n') ? body.slice('retry: 1000\n'.length) : body;
  return text
    .split(/(?<=\n\n)/)
    .filter((frame) => frame.endsWith('\n\n'))
    .map((frame) => frame.replaceAll(/^: heartbeat\n/gm, ''));
}

/** The `id:` of a frame; `''` for a gap, which has none. */
export const idOf = (frame: string | undefined): string =>
  /^id: (\d+)$/m.exec(frame ?? '')?.[1] ?? '';

export const idsOf = (frames: readonly string[]): readonly number[] =>
  frames.map((frame) => Number(idOf(frame)));

/** Where a stream is and how it is asked for. */
export interface Source {
  readonly path: string;
  /** `kind=lifecycle` and the like, joined by `&`. */
  readonly query?: string;
}

export const runSource = (runId: string, query = ''): Source => ({
  path: `/v1/runs/${runId}/events`,
  query,
});

export const sessionSource = (sessionId: string, query = ''): Source => ({
  path: `/v1/sessions/${sessionId}/events`,
  query,
});

/** The three ways to say where to begin. Each gives the entry `seq` first. */
export const ATTACHED = {
  from: (seq: number) => ({ query: `from=${seq}` }),
  after: (seq: number) => ({ query: `after=${seq - 1}` }),
  'Last-Event-ID': (seq: number) => ({ lastEventId: String(seq - 1) }),
} as const satisfies Readonly<
  Record<string, (seq: number) => { query?: string; lastEventId?: string }>
>;

// The keys of a constant object are what its type says.
export const WAYS = Object.keys(ATTACHED) as (keyof typeof ATTACHED)[];

/** What is awkward in a frame: line ends, an empty line, what JSON escapes, what UTF-8 needs bytes for. */
export const AWKWARD: readonly string[] = [
  'Let',
  ' me\n\nsee',
  ' "x" \\ ',
  '\r\n',
  '€ 😀',
  '\u2028',
  'data: no\n\n',
  '.',
];

export interface Place {
  readonly query?: string;
  readonly lastEventId?: string;
}

export function open(api: Api, { path, query = '' }: Source, place: Place = {}): Exchange {
  const asked = [query, place.query ?? ''].filter((part) => part !== '').join('&');
  const headers = place.lastEventId === undefined ? {} : { 'Last-Event-ID': place.lastEventId };
  return api.ask(asked === '' ? path : `${path}?${asked}`, { headers });
}

/** The frames of a stream that ends. */
export async function framesOf(
  api: Api,
  source: Source,
  place: Place = {},
): Promise<readonly string[]> {
  const reader = open(api, source, place);
  await reader.all();
  expect(await reader.status()).toBe(200);
  expect(reader.complete, 'the stream was read to its end').toBe(true);
  return wholeFrames(reader.body);
}

/** Reads so many frames, and drops the socket. */
export async function taste(
  api: Api,
  source: Source,
  { place = {}, count }: { readonly place?: Place; readonly count: number },
): Promise<readonly string[]> {
  const reader = open(api, source, place);
  await reader.until(({ body }) => wholeFrames(body).length >= count);
  await reader.leave();
  return wholeFrames(reader.body).slice(0, count);
}

/**
 * A client that reads `counts` frames at a time and is cut after each, until the stream says by 204 that
 * nothing follows or ends with its terminal entry.
 */
export async function cutAndComeBack(
  api: Api,
  source: Source,
  counts: () => number,
): Promise<readonly string[]> {
  const seen: string[] = [];
  for (;;) {
    const last = seen.map(idOf).findLast((id) => id !== '');
    const reader = open(api, source, last === undefined ? {} : { lastEventId: last });
    if ((await reader.status()) === 204) return seen;
    const count = counts();
    const more = ({ body }: Exchange) => wholeFrames(body);
    await reader.until((so) => more(so).length >= count).catch(() => {}); // It ended before.
    await reader.leave();
    seen.push(...more(reader).slice(0, count));
  }
}

export const readAll = (api: Api, runId: string, query = ''): Promise<readonly string[]> =>
  framesOf(api, runSource(runId, query));

/**
 * For every entry `i` of a stream that ends and every later one `j`: attached at `i`, cut behind `j`
 * and taken up with its id, the client has the same bytes as one that was never cut.
 */
export async function expectNoSeam(world: Api, source: Source): Promise<void> {
  const whole = await framesOf(world, source);
  const ids = whole.map(idOf);
  for (let i = 0; i < whole.length; i += 1) {
    const way = WAYS[i % WAYS.length] ?? 'from';
    const place = ATTACHED[way](Number(ids[i]));
    await Promise.all(
      ids.slice(i).map(async (_, k) => {
        const head = await taste(world, source, { place, count: k + 1 });
        const back = open(world, source, { lastEventId: idOf(head.at(-1)) });
        const isLast = i + k === whole.length - 1;
        expect(await back.status()).toBe(isLast ? 204 : 200);
        await back.all();
        expect([...head, ...wholeFrames(back.body)].join('')).toBe(whole.slice(i).join(''));
      }),
    );
  }
}
