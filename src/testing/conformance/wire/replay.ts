import { type Ask, type EventReader, expectError } from '../acts/api.ts';
import { entriesOf } from '../acts/entries.ts';
import { expectSame } from '../acts/mismatch.ts';
import { MAIN, type Stage } from '../acts/stage.ts';
import { AGENTS, TOOLS } from '../kit/agents.ts';
import { startRun, type WireCheck } from './wire-check.ts';

/** Streams of entries can be left and come back to without a hole or a double. */
export const REPLAY_CHECKS: readonly WireCheck[] = [
  ['a reader that comes back while the run goes on misses nothing', comeBack],
  ['from includes, after excludes, Last-Event-ID beats both', cursors],
  ['the lifecycle can be read alone, and entries by their names', views],
  ['a place that the session has not reached is refused', beyond],
  ['a HEAD of a stream answers without one', head],
];

const eventsPath = (stage: Stage, query = ''): string =>
  `/v1/runs/${stage.run().runId}/events${query}`;

async function readOn(stage: Stage, query: string, asked: Ask = {}): Promise<EventReader> {
  const reader = await stage.api.stream(eventsPath(stage, query), asked);
  stage.readers.push({ runId: stage.run().runId, reader });
  return reader;
}

/** Takes a run to its end with a tool, so that it has a dozen entries. */
async function workThrough(stage: Stage): Promise<void> {
  (await stage.answering()).call(...stage.toolCalls({ name: TOOLS.work, which: MAIN }));
  (await stage.toolCall(MAIN)).answer({ text: 'done' });
  (await stage.answering()).say();
  await stage.ended();
}

async function comeBack(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  const first = await readOn(stage, '');
  await stage.bounded(
    new Promise<void>((resolve) => first.onFrame(() => resolve())),
    'the first entry of the run',
  );
  first.leave();
  await first.over;
  const seen = entriesOf(first).map(({ seq }) => seq);
  const headers = { 'Last-Event-ID': String(seen.at(-1)) };
  const second = await readOn(stage, '', { headers });
  await workThrough(stage);
  await stage.bounded(second.over, 'the end of the stream');
  const both = [...seen, ...entriesOf(second).map(({ seq }) => seq)];
  expectSame('the entries of both readers', both, ownSeqs(stage));
}

const ownSeqs = (stage: Stage): readonly number[] =>
  stage.entries.filter((entry) => entry.run_id === stage.run().runId).map(({ seq }) => seq);

async function readWhole(stage: Stage, query: string, asked: Ask = {}): Promise<EventReader> {
  const reader = await stage.api.stream(eventsPath(stage, query), asked);
  await stage.bounded(reader.over, 'the end of the stream');
  return reader;
}

async function cursors(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  await workThrough(stage);
  const all = ownSeqs(stage);
  const from3 = all.filter((seq) => seq >= 3);
  const after3 = all.filter((seq) => seq > 3);
  const headers = { 'Last-Event-ID': '3' };
  const cases: readonly [query: string, asked: Ask, seqs: readonly number[]][] = [
    ['', {}, all],
    ['?from=3', {}, from3],
    ['?after=3', {}, after3],
    ['?from=1&after=3', {}, after3],
    ['?from=1&after=1', { headers }, after3],
  ];
  for (const [query, asked, seqs] of cases) {
    const seen = entriesOf(await readWhole(stage, query, asked)).map(({ seq }) => seq);
    expectSame(`the entries of events${query}`, seen, seqs);
  }
}

async function views(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  await workThrough(stage);
  const own = stage.entries.filter((entry) => entry.run_id === stage.run().runId);
  const lifecycle = own.filter(({ payload }) => payload.kind === 'lifecycle').map(({ seq }) => seq);
  const seen = entriesOf(await readWhole(stage, '?kind=lifecycle')).map(({ seq }) => seq);
  expectSame('the lifecycle', seen, lifecycle);
  const named = (await readWhole(stage, '?named=true')).frames.map(({ event }) => event);
  expectSame(
    'the names',
    named,
    own.map(({ payload }) => payload.event.type),
  );
}

async function beyond(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  const answer = await stage.api.ask(eventsPath(stage, '?from=100000'));
  expectError(answer, 400, 'invalid_request_error', 'from');
}

async function head(stage: Stage): Promise<void> {
  await startRun(stage, AGENTS.plain);
  const answer = await stage.api.expect(200, eventsPath(stage), { method: 'HEAD' });
  expectSame('the type', answer.headers.get('content-type')?.split(';')[0], 'text/event-stream');
  expectSame('the body', answer.text, '');
}
