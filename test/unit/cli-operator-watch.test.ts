import { describe, expect, it } from 'vitest';
import {
  entryJson,
  finished,
  frame,
  NEXT_RUN,
  open,
  operatorWorld,
  refusal,
  RUN,
  said,
  text,
  until,
  type Answering,
  type OperatorWorld,
} from './cli-operator-kit.ts';

/** Hazard: a watcher that loses entries, shows them twice, waits for ever, or touches the run. */

const started = frame(1, {
  type: 'started',
  agent: 'helper',
  prompt: 'Hi\u001b[2J',
  liveness: { policy: 'cancel', grace_ms: 0 },
});

const watch = ['runs', 'watch', RUN];
const events = `/v1/runs/${RUN}/events`;

/** Answers one after the other; another request than those is an error. */
function inTurn(...answers: readonly (Response | Error)[]): Answering {
  const left = [...answers];
  return () => {
    const next = left.shift();
    if (next === undefined) throw new TypeError('too many', { cause: { code: 'TOO_MANY' } });
    if (next instanceof Error) throw next;
    return next;
  };
}

/** A stream that is closed without an entry, once its reader has waited for a minute. */
function quietMinute({ clock, advance }: OperatorWorld): Response {
  const pull = async (controller: ReadableStreamDefaultController): Promise<void> => {
    await until(() => clock.pending.some(({ delayMs }) => delayMs === 60_000));
    advance(60_000);
    controller.close();
  };
  const body = new ReadableStream({ pull }, { highWaterMark: 0 });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

const refusedSocket = (): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('s'), { code: 'ECONNREFUSED' }) });

const lastIds = ({ requests }: OperatorWorld) =>
  requests.map(({ headers }) => headers.get('last-event-id'));

/** Runs the command and lets each pause pass as it comes; gives the pauses too. */
async function patiently(world: OperatorWorld, argv: readonly string[]) {
  const pauses: number[] = [];
  const run = { isOver: false };
  const code = world.run(...argv).finally(() => (run.isOver = true));
  while (!run.isOver) {
    await world.clock.settle();
    // The other timers are the limits of a request and of silence, and long.
    const pause = world.clock.pending.find(({ delayMs }) => delayMs <= 15_000);
    if (pause === undefined) continue;
    pauses.push(pause.delayMs);
    world.clock.fire(pause);
  }
  return { code: await code, pauses };
}

describe('watch, for a program or a file', () => {
  it('prints a line an entry and ends with the run', async () => {
    const world = operatorWorld(() => said(started, text(2, 'Hel'), text(3, 'lo'), finished(4)));
    expect(await world.run(...watch)).toBe(0);
    expect(world.out()).toBe(
      `    1 00:00:01Z started            agent helper, liveness cancel: Hi\\x1b[2J
    2 00:00:02Z text_delta         "Hel"
    3 00:00:03Z text_delta         "lo"
    4 00:00:04Z finished           15 tokens
`,
    );
    expect(world.requests.map(({ path }) => path)).toEqual([events]);
    expect(world.requests[0]?.method).toBe('GET');
  });

  it.each([['finished'], ['cancelled'], ['failed'], ['parked']])('ends with %s', async (type) => {
    const { response } = open(frame(1, { type }));
    const world = operatorWorld(inTurn(response));
    expect(await world.run(...watch)).toBe(0);
  });

  it('sends where to begin and what to leave out, and makes no claim', async () => {
    const world = operatorWorld(() => said(finished(7)));
    await world.run(...watch, '--from', '7', '--lifecycle');
    expect(world.requests[0]?.path).toBe(`${events}?from=7&kind=lifecycle`);
  });

  it('prints with --json what the server sent, a line an entry', async () => {
    const json = entryJson(1, { type: 'finished' });
    const broken = json.replace(',"payload"', ' ,\ndata: "payload"');
    const world = operatorWorld(() => said(`data: ${broken}\nid: 1\n\n`));
    expect(await world.run(...watch, '--json')).toBe(0);
    expect(world.out()).toBe(`${json.replace(',"payload"', ' , "payload"')}\n`);
  });

  it('shows all keys of an event that it does not know', async () => {
    const odd = frame(1, { type: 'nova', a: 1, b: { c: 'd' } } as { type: string });
    const world = operatorWorld(() => said(odd, finished(2)));
    await world.run(...watch);
    expect(world.out()).toContain('nova               a=1 b={"c":"d"}\n');
  });

  it('tells a gap', async () => {
    const gap = JSON.parse(entryJson(1, { type: 'gap', from: 1, to: 6 } as { type: string }));
    const { seq: _, ...noSeq } = gap;
    const world = operatorWorld(() => said(`data: ${JSON.stringify(noSeq)}\n\n`, finished(7)));
    await world.run(...watch);
    expect(world.out()).toMatch(/ - 00:00:01Z gap +entries 1 to 6 are not kept any more\n/);
  });

  it('says at once that there is nothing more to come', async () => {
    const world = operatorWorld(() => new Response(null, { status: 204 }));
    expect(await world.run(...watch, '--from', '99')).toBe(0);
    expect(world.out()).toBe('');
  });
});

describe('watch, at a terminal', () => {
  const columns = 80;

  it('joins the text and begins everything else on a line of its own', async () => {
    const world = operatorWorld(
      () => said(text(1, 'Hel'), text(2, 'lo\nyou\u001b[2J'), finished(3)),
      { columns },
    );
    await world.run(...watch);
    expect(world.out()).toBe('Hello\nyou\\x1b[2J\n    3 00:00:03Z finished           15 tokens\n');
  });

  it('joins the reasoning and tells it from the text', async () => {
    const reasoning = (seq: number, content: string) => frame(seq, { type: 'reasoning', content });
    const world = operatorWorld(
      () => said(reasoning(1, 'I '), reasoning(2, 'think'), text(3, 'so'), finished(4)),
      { columns },
    );
    await world.run(...watch);
    expect(world.out()).toMatch(/^reasoning: I think\nso\n +4 /);
  });

  it('tells the runs of a session apart', async () => {
    const delta = (seq: number, words: string, run: string) =>
      `data: ${entryJson(seq, { type: 'text_delta', text: words } as { type: string }, run)}\nid: ${seq}\n\n`;
    const line = frame(4, { type: 'claims_exhausted', grace_ms: 0 });
    const texts = [delta(1, 'a', RUN), delta(2, 'b', NEXT_RUN), delta(3, 'c', NEXT_RUN)];
    const stream = open(...texts, line, delta(5, 'd', NEXT_RUN));
    const world = operatorWorld(() => stream.response, { columns });
    const code = world.run('sessions', 'watch', 'chat-1');
    await world.printed('] d');
    world.signals.emit('SIGINT');
    expect(await code).toBe(130);
    expect(world.out()).toBe(
      `[0000abcd] a
[0000ef01] bc
    4 00:00:04Z [0000abcd] claims_exhausted   0ms of grace
[0000ef01] d
`,
    );
    expect(world.requests[0]?.path).toBe('/v1/sessions/chat-1/events');
  });
});

describe('watch, over a bad connection', () => {
  it('comes back after the last whole entry and shows none twice', async () => {
    const cut = open(text(1, 'a'), text(2, 'b'), 'data: {"half');
    const again = said(text(2, 'b'), text(3, 'c'), finished(4));
    const world = operatorWorld(inTurn(cut.response, refusedSocket(), again));
    const run = patiently(world, watch);
    await world.printed('"b"');
    cut.fail();
    const { code, pauses } = await run;
    expect(code).toBe(0);
    expect(lastIds(world)).toEqual([null, '2', '2']);
    expect(pauses).toEqual([1_000, 2_000]);
    expect(world.out().match(/text_delta/g)).toHaveLength(3);
    expect(world.err()).toContain('cannot be reached (terminated)');
    expect(world.err()).toContain('Trying again in 2s.\n');
  });

  it('asks from the same entry again when it has seen none', async () => {
    const world = operatorWorld(inTurn(said(': heartbeat\n'), said(finished(5))));
    const { code } = await patiently(world, [...watch, '--from', '5']);
    expect(code).toBe(0);
    expect(world.requests.map(({ path }) => path)).toEqual([
      `${events}?from=5`,
      `${events}?from=5`,
    ]);
  });

  it('waits as long as the server wants', async () => {
    const busy = refusal(503, { message: 'Later.', code: 'x' }, { 'retry-after': '7' });
    const world = operatorWorld(
      inTurn(said(`retry: 300\n${text(1, 'a')}`), busy, said(finished(2))),
    );
    expect(await patiently(world, watch)).toEqual({ code: 0, pauses: [300, 7_000] });
  });

  it('ends when the server says on its return that there is no more', async () => {
    const over = new Response(null, { status: 204 });
    const world = operatorWorld(inTurn(said(text(1, 'a')), over));
    expect((await patiently(world, watch)).code).toBe(0);
  });

  it('gives up in the end', async () => {
    const world = operatorWorld(
      inTurn(said(text(1, 'a')), ...Array.from({ length: 20 }, refusedSocket)),
    );
    const { code, pauses } = await patiently(world, watch);
    expect(code).toBe(5);
    expect(pauses).toEqual([1, 2, 4, 8, 15, 15, 15, 15, 15, 15].map((s) => s * 1_000));
    expect(world.err()).toContain('Gave up after 10 tries');
  });

  it('begins to count anew with each entry', async () => {
    const drops = Array.from({ length: 25 }, (_, index) => said(text(index + 1, 'a')));
    const world = operatorWorld(inTurn(...drops, said(finished(26))));
    const { code, pauses } = await patiently(world, watch);
    expect(code).toBe(0);
    expect(new Set(pauses)).toEqual(new Set([1_000]));
  });

  it('does not count a connection that held, though nothing happened', async () => {
    let left = 12;
    const world: OperatorWorld = operatorWorld(() => {
      left -= 1;
      return left === 0 ? said(finished(1)) : quietMinute(world);
    });
    const { code, pauses } = await patiently(world, watch);
    expect(code).toBe(0);
    expect(new Set(pauses)).toEqual(new Set([1_000]));
  });

  it('leaves a server that has fallen silent', async () => {
    const world = operatorWorld(inTurn(open(text(1, 'a')).response, said(finished(2))));
    const code = world.run(...watch);
    await world.printed('"a"');
    await until(() => world.clock.pending.some(({ delayMs }) => delayMs === 60_000));
    await world.clock.advance(60_000);
    await world.clock.advance(1_000);
    expect(await code).toBe(0);
    expect(world.err()).toContain('has been silent for 60 s');
  });

  it.each([
    ['that is not there', () => Promise.reject(refusedSocket()), 5],
    ['that knows no such run', () => refusal(404, { message: 'No run.', code: 'not_found' }), 3],
    ['that sends no stream', () => Response.json({}), 5],
    ['that is shutting down', () => refusal(503, { message: 'Down', type: 'x' }), 1],
  ])('does not come back to a server %s', async (_, answer, exitCode) => {
    const world = operatorWorld(answer);
    expect(await world.run(...watch)).toBe(exitCode);
    expect(world.requests).toHaveLength(1);
  });

  it('does not come back to a server that refuses it later', async () => {
    const gone = refusal(404, { message: 'No run.', code: 'not_found' });
    const world = operatorWorld(inTurn(said(text(1, 'a')), gone));
    expect((await patiently(world, watch)).code).toBe(3);
  });

  it.each([['no JSON'], ['{"hello":1}']])('ends with 5 for an entry that is %s', async (data) => {
    const world = operatorWorld(() => said(`data: ${data}\n\n`));
    expect(await world.run(...watch)).toBe(5);
  });
});

describe('who leaves', () => {
  it('gets 130 at Ctrl-C and hears where to go on; the run hears nothing', async () => {
    const world = operatorWorld(inTurn(open(text(1, 'a'), text(2, 'b')).response));
    const code = world.run(...watch);
    await world.printed('"b"');
    world.signals.emit('SIGINT');
    expect(await code).toBe(130);
    expect(world.err()).toBe('The run goes on. Watch on by --from 3.\n');
    expect(world.requests).toHaveLength(1);
    expect(world.clock.pending).toEqual([]);
  });

  it('may leave during a pause too', async () => {
    const world = operatorWorld(inTurn(said(text(1, 'a'))));
    const code = world.run(...watch);
    await world.printed('Trying again');
    await until(() => world.clock.pending.length > 0);
    world.signals.emit('SIGINT');
    expect(await code).toBe(130);
    expect(world.clock.pending).toEqual([]);
  });

  it('ends quietly when nobody reads the output any more', async () => {
    const world = operatorWorld(inTurn(open(text(1, 'a')).response));
    const code = world.run(...watch);
    await world.printed('"a"');
    world.closeOutput();
    expect(await code).toBe(0);
    expect(world.err()).toBe('');
  });
});
