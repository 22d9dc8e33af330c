import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';

export interface LoadResult {
  readonly chunks: number;
  readonly seconds: number;
  /** From the upstream's write to our read, one figure a chunk, sorted. */
  readonly latenciesMs: readonly number[];
}

const BODY = JSON.stringify({
  model: 'bench',
  stream: true,
  messages: [{ role: 'user', content: 'Tell me something long.' }],
});

const HEADERS = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(BODY) };

const nowMicros = (): number => Number(process.hrtime.bigint() / 1000n);

/** Reads `streams` answers at the same time, each to its end. Rejects when one is not whole. */
export async function readStreams(
  url: string,
  options: { readonly streams: number; readonly chunks: number; readonly spreadMs: number },
): Promise<LoadResult> {
  const { streams, chunks, spreadMs } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const latenciesMs: number[] = [];
  const began = nowMicros();
  const readers = Array.from({ length: streams }, async (_, index) => {
    await wait((spreadMs * index) / streams);
    const got = await readOne(url, { agent, latenciesMs });
    if (got !== chunks) throw new Error(`A stream of ${url} had ${got} of ${chunks} chunks.`);
  });
  await Promise.all(readers).finally(() => agent.destroy());
  const seconds = (nowMicros() - began) / 1e6;
  return { chunks: streams * chunks, seconds, latenciesMs: latenciesMs.toSorted((a, b) => a - b) };
}

/** Opens `streams` answers, waits for the first chunk of each, and gives what closes them. */
export async function openStreams(url: string, streams: number): Promise<() => void> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const open: ClientRequest[] = [];
  const first = Array.from(
    { length: streams },
    () =>
      new Promise<void>((resolve, reject) => {
        const one = post(url, agent, (response) => {
          const stamps = stampReader(() => resolve());
          response.on('data', stamps);
          response.on('error', () => {});
        });
        one.on('error', reject);
        open.push(one);
      }),
  );
  await Promise.all(first);
  return () => {
    for (const one of open) one.destroy();
    agent.destroy();
  };
}

/** Runs short answers one after another in `lanes` lanes for `ms`; gives how many ended. */
export async function countRuns(
  url: string,
  options: { readonly lanes: number; readonly ms: number },
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const until = nowMicros() + options.ms * 1000;
  let runs = 0;
  const lane = async () => {
    while (nowMicros() < until) {
      await readOne(url, { agent, latenciesMs: [] });
      runs += 1;
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, lane)).finally(() => agent.destroy());
  return runs;
}

interface Reading {
  readonly agent: Agent;
  readonly latenciesMs: number[];
}

/** Resolves with the chunks of one answer, read to its end. */
function readOne(url: string, { agent, latenciesMs }: Reading): Promise<number> {
  return new Promise((resolve, reject) => {
    let chunks = 0;
    let tail = '';
    const reader = stampReader((sentMicros) => {
      chunks += 1;
      latenciesMs.push((nowMicros() - sentMicros) / 1000);
    });
    const one = post(url, agent, (response) => {
      response.on('data', (data: Buffer) => {
        reader(data);
        tail = (tail + data.toString('latin1')).slice(-16);
      });
      response.on('error', reject);
      response.on('end', () => {
        if (tail.endsWith('data: [DONE]\n\n')) resolve(chunks);
        else reject(new Error(`${url} answered ${response.statusCode} and ended without [DONE].`));
      });
    });
    one.on('error', reject);
  });
}

function post(url: string, agent: Agent, answered: (response: IncomingMessage) => void) {
  const one = request(
    `${url}/v1/chat/completions`,
    { method: 'POST', agent, headers: HEADERS },
    answered,
  );
  one.end(BODY);
  return one;
}

/** Finds the sending times in the bytes, also where a read ends inside one. */
function stampReader(found: (sentMicros: number) => void): (data: Buffer) => void {
  let rest = '';
  return (data) => {
    const text = rest + data.toString('latin1');
    let end = 0;
    for (const match of text.matchAll(/"t(\d+);/g)) {
      found(Number(match[1]));
      end = match.index + match[0].length;
    }
    rest = text.slice(Math.max(end, text.length - 24));
  };
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
