import { describe, expect, it } from 'vitest';
import type { FakeRun } from '../support/fake-run.ts';
import { runsWorlds, type RunsWorld } from '../support/runs-world.ts';

/**
 * A stream that is cut anywhere and taken up again where the client stands has no seam: the same
 * bytes, none missing, none twice. What a client stands at is what it has parsed: a frame counts when
 * its blank line is there, and its id with it.
 */

const world = runsWorlds();
const HEAD = 'retry: 1000\n: heartbeat\n';
const TEXTS = ['Let', ' me\n', ' "see" ', '\u0001', '', '.'];

/** Frames of the entries of a session, or of one run of it, in order. */
const framesIn = ({ handle }: RunsWorld, runId?: string): readonly string[] =>
  handle.journal
    .entries('cs_1')
    .filter((entry) => runId === undefined || entry.runId === runId)
    .map(({ json, seq }) => `data: ${json}\nid: ${seq}\n\n`);

const idOf = (frame: string | undefined): string => /^id: (\d+)$/m.exec(frame ?? '')?.[1] ?? '';

/** A session of two runs whose entries alternate; both have ended. */
async function recorded(): Promise<{ made: RunsWorld; run: FakeRun }> {
  const made = await world();
  const [run, other] = [await made.run(), await made.run()];
  for (const text of TEXTS) {
    run.text(text);
    other.text(text);
  }
  other.cancelled('external');
  run.finish();
  return { made, run };
}

/** The whole frames that begin a text. */
const wholeFrames = (text: string): readonly string[] =>
  text
    .slice(HEAD.length)
    .split(/(?<=\n\n)/)
    .filter((frame) => frame.endsWith('\n\n'));

describe('the stream of a recorded run', () => {
  it('is the same from every one of its entries on', async () => {
    const { made, run } = await recorded();
    const frames = framesIn(made, run.runId);
    for (const [at, frame] of frames.entries()) {
      const { text } = await made.get(`/v1/runs/${run.runId}/events?from=${idOf(frame)}`);
      expect(text).toBe(HEAD + frames.slice(at).join(''));
    }
  });

  it('has no seam when it is cut behind any byte and taken up again', async () => {
    const { made, run } = await recorded();
    const path = `/v1/runs/${run.runId}/events`;
    const frames = framesIn(made, run.runId);
    const { text: whole } = await made.get(path);
    const rest = new Map([['', whole]]);
    for (const id of frames.map(idOf)) {
      rest.set(id, (await made.get(path, { 'Last-Event-ID': id })).text);
    }
    for (let cut = HEAD.length; cut <= whole.length; cut++) {
      const seen = wholeFrames(whole.slice(0, cut));
      const more = wholeFrames(rest.get(idOf(seen.at(-1))) ?? '');
      expect([...seen, ...more].join('')).toBe(frames.join(''));
    }
  });
});

describe('the stream of a run that lives', () => {
  it('has no seam for a client that is cut after every entry and misses one each time', async () => {
    const made = await world();
    const run = await made.run();
    const seen: string[] = [];
    for (let last = ''; run.live || idOf(seen.at(-1)) !== String(run.record().last_seq); ) {
      const headers = last === '' ? [] : [`Last-Event-ID: ${last}`];
      const reader = await made.reader(`/v1/runs/${run.runId}/events`, headers);
      await reader.until(({ unchunked }) => wholeFrames(unchunked).length > 0);
      const [frame] = wholeFrames(reader.unchunked);
      reader.socket.destroy();
      seen.push(frame ?? '');
      last = idOf(frame);
      if (seen.length < TEXTS.length) run.text(TEXTS[seen.length] ?? '');
      if (seen.length === 2) run.text('missed');
      if (seen.length === TEXTS.length) run.finish();
    }
    expect(seen).toEqual(framesIn(made));
  });
});

describe('the stream of a session', () => {
  it('has no seam wherever it is taken up again', async () => {
    const { made } = await recorded();
    const frames = framesIn(made);
    for (let after = 0; after <= frames.length; after++) {
      const reader = await made.reader(`/v1/sessions/cs_1/events?after=${after}`);
      const expected = HEAD + frames.slice(after).join('');
      await reader.until(({ unchunked }) => unchunked.length >= expected.length);
      expect(reader.unchunked).toBe(expected);
      reader.socket.destroy();
    }
  });
});
