import OpenAI from 'openai';
import { type Answer, type EventReader, expectError, type Json } from '../acts/api.ts';
import { openChat } from '../acts/begin.ts';
import { expectSame, Mismatch, shown } from '../acts/mismatch.ts';
import { MAIN, type Stage } from '../acts/stage.ts';
import { AGENTS, type AgentName, TOOLS } from '../kit/agents.ts';
import type { WireCheck } from './wire-check.ts';

/** The chat wire as OpenAI's clients need it. */
export const CHAT_CHECKS: readonly WireCheck[] = [
  ['the openai client gets a whole answer', wholeBySdk],
  ['the openai client gets a stream', streamBySdk],
  ['a stream is chunks, one finish_reason, [DONE] and the end', plainStream],
  ['a tool that the server ran is in the stream, which then ends with stop', streamWithTool],
  ['an approval is told in the stream, which goes on when it is decided', streamWithApproval],
  ['a model that refuses is 502 for a whole answer', refusedWhole],
  ['a model that refuses is an error frame and [DONE] in a stream', refusedStream],
  ['a cancelled stream has an error frame and [DONE]', cancelledStream],
  ['a cancelled whole answer is 409 and not to be tried again', cancelledWhole],
  ['approvals in the conversation need a stream', approvalNeedsStream],
  ['an unknown model is 404', unknownModel],
];

const client = ({ api: { target } }: Stage): OpenAI =>
  new OpenAI({ baseURL: `${target.base}/v1`, apiKey: target.key ?? 'none', maxRetries: 0 });

const messagesOf = (stage: Stage) => [{ role: 'user' as const, content: stage.prompt(MAIN) }];

const headersOf = (stage: Stage) => ({ 'X-Chat-Session-Id': stage.id });

async function wholeBySdk(stage: Stage): Promise<void> {
  const asked = client(stage)
    .chat.completions.create(
      { model: AGENTS.plain, messages: messagesOf(stage) },
      { headers: headersOf(stage) },
    )
    .withResponse();
  asked.catch(() => {}); // Whoever waits for it hears of it.
  (await stage.answering()).say('Four.');
  const { data, response } = await stage.bounded(asked, 'a whole answer');
  await stage.joined(MAIN, response.headers.get('x-run-id') ?? '');
  const [choice] = data.choices;
  expectSame('the answer', choice?.message.content, 'Four.');
  expectSame('the finish_reason', choice?.finish_reason, 'stop');
  expectSame('the usage', data.usage?.total_tokens, 10);
}

async function streamBySdk(stage: Stage): Promise<void> {
  const opened = client(stage)
    .chat.completions.create(
      { model: AGENTS.plain, messages: messagesOf(stage), stream: true },
      { headers: headersOf(stage) },
    )
    .withResponse();
  opened.catch(() => {}); // As above.
  (await stage.answering()).say('Four.');
  const { data, response } = await stage.bounded(opened, 'the head of a stream');
  await stage.joined(MAIN, response.headers.get('x-run-id') ?? '');
  const read = (async () => {
    const choices = [];
    for await (const chunk of data) choices.push(...chunk.choices);
    return choices;
  })();
  const choices = await stage.bounded(read, 'the end of a stream');
  expectSame('the text', choices.map(({ delta }) => delta.content ?? '').join(''), 'Four.');
  expectSame(
    'the finish_reasons',
    choices.flatMap((one) => one.finish_reason ?? []),
    ['stop'],
  );
}

async function open(stage: Stage, agent?: AgentName): Promise<EventReader> {
  const reader = await openChat(stage, agent);
  await stage.joined(MAIN, reader.headers.get('x-run-id') ?? '');
  return reader;
}

/** The chunks of a stream that must have ended with `[DONE]` and nothing behind it. */
async function chunksOf(stage: Stage, reader: EventReader): Promise<readonly Json[]> {
  const over = await stage.bounded(reader.over, 'the end of a chat stream');
  const done = reader.frames.findIndex(({ data }) => data === '[DONE]');
  if (over !== 'ended' || done === -1 || done !== reader.frames.length - 1) {
    const last = reader.frames.slice(-3).map(({ data }) => data);
    throw new Mismatch('a last frame [DONE] and the end', `${shown(last)}, ${over}`);
  }
  return reader.frames.slice(0, -1).map(({ data }) => JSON.parse(data) as Json);
}

interface Choice {
  readonly delta?: {
    readonly content?: string;
    readonly role?: string;
    readonly tool_calls?: unknown;
  };
  readonly finish_reason?: string | null;
}

const choicesOf = (chunks: readonly Json[]): readonly Choice[] =>
  chunks.flatMap((chunk) => (chunk['choices'] ?? []) as Choice[]);

const finishesOf = (choices: readonly Choice[]): readonly string[] =>
  choices.flatMap((choice) => choice.finish_reason ?? []);

const textOf = (choices: readonly Choice[]): string =>
  choices.map(({ delta }) => delta?.content ?? '').join('');

async function plainStream(stage: Stage): Promise<void> {
  const reader = await open(stage);
  (await stage.answering()).say('Four.');
  const choices = choicesOf(await chunksOf(stage, reader));
  expectSame('the role of the first chunk', choices[0]?.delta?.role, 'assistant');
  expectSame('the text', textOf(choices), 'Four.');
  expectSame('the finish_reasons', finishesOf(choices), ['stop']);
}

async function streamWithTool(stage: Stage): Promise<void> {
  const reader = await open(stage);
  (await stage.answering()).call(...stage.toolCalls({ name: TOOLS.work, which: MAIN }));
  (await stage.toolCall(MAIN)).answer({ text: 'done' });
  (await stage.answering()).say('Done.');
  const choices = choicesOf(await chunksOf(stage, reader));
  expectSame('the text without white space', textOf(choices).trim(), 'Done.');
  expectSame('the finish_reasons', finishesOf(choices), ['stop']);
}

async function streamWithApproval(stage: Stage): Promise<void> {
  const reader = await open(stage, AGENTS.approvals);
  (await stage.answering()).call(...stage.toolCalls({ name: TOOLS.guarded, which: MAIN }));
  await stage.until('the question in the journal', () => stage.count('approval_pending') > 0);
  const { decision_id: id } = stage.latest('approval_pending');
  await stage.api.expect(204, `/v1/approvals/${id}`, { method: 'POST', body: { approved: true } });
  (await stage.toolCall(MAIN)).answer({ text: 'done' });
  (await stage.answering()).say('Done.');
  const chunks = await chunksOf(stage, reader);
  const events = reader.frames.flatMap(({ event }) => event ?? []);
  const told = events.filter((event) => event.startsWith('aura.approval_'));
  const wanted = ['aura.approval_requested', 'aura.approval_pending', 'aura.approval_completed'];
  expectSame('the events of the approval', told, wanted);
  expectSame('the finish_reasons', finishesOf(choicesOf(chunks)), ['stop']);
}

/** A whole answer to the model's doing. */
async function whole(stage: Stage, agent: AgentName, act: () => Promise<void>): Promise<Answer> {
  const answer = stage.api.ask('/v1/chat/completions', {
    method: 'POST',
    headers: headersOf(stage),
    body: { model: agent, messages: messagesOf(stage) },
  });
  answer.catch(() => {}); // Whoever waits for it hears of it.
  await act();
  return stage.bounded(answer, 'a whole answer');
}

async function refusedWhole(stage: Stage): Promise<void> {
  const answer = await whole(stage, AGENTS.plain, async () => (await stage.answering()).fail(400));
  expectError(answer, 502, 'provider_error');
}

/** An abnormal end is told once, and does not look like a normal one. */
async function expectErrorFrame(stage: Stage, reader: EventReader, code: string): Promise<void> {
  const chunks = await chunksOf(stage, reader);
  const codes = reader.frames
    .filter(({ event }) => event === 'error')
    .map(({ data }) => (JSON.parse(data) as { error?: { code?: string } }).error?.code);
  expectSame('the codes of the error frames', codes, [code]);
  expectSame('the finish_reasons', finishesOf(choicesOf(chunks)), []);
}

async function refusedStream(stage: Stage): Promise<void> {
  const reader = await open(stage);
  (await stage.answering()).fail(400);
  await expectErrorFrame(stage, reader, 'provider_error');
}

async function cancelledStream(stage: Stage): Promise<void> {
  const reader = await open(stage);
  await stage.modelCall();
  await stage.api.expect(202, `/v1/runs/${stage.run().runId}/cancel`, { method: 'POST' });
  await expectErrorFrame(stage, reader, 'run_cancelled');
}

async function cancelledWhole(stage: Stage): Promise<void> {
  const answer = await whole(stage, AGENTS.plain, async () => {
    await stage.modelCall();
    const list = await stage.api.expect(200, `/v1/runs?session_id=${stage.id}`);
    const [run] = (list.json['data'] ?? []) as { run_id: string }[];
    await stage.joined(MAIN, run?.run_id ?? '');
    await stage.api.expect(202, `/v1/runs/${run?.run_id}/cancel`, { method: 'POST' });
  });
  expectError(answer, 409, 'run_cancelled');
  expectSame('x-should-retry', answer.headers.get('x-should-retry'), 'false');
}

async function approvalNeedsStream(stage: Stage): Promise<void> {
  const answer = await whole(stage, AGENTS.approvals, async () => {});
  expectSame('the status', answer.status, 400);
}

async function unknownModel(stage: Stage): Promise<void> {
  const answer = await stage.api.post('/v1/chat/completions', {
    model: 'conformance-nobody',
    messages: messagesOf(stage),
  });
  expectSame('the status', answer.status, 404);
}
