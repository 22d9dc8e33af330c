import { expect } from 'vitest';
import type { RunRecord } from '../../src/handle.ts';
import type { Envelope, JournalEvent } from '../../src/journal/events.ts';
import type { UpstreamAnswer } from '../../src/testing/fake-upstream.ts';
import {
  delta,
  reply,
  type UpstreamStep,
  type UpstreamToolCall,
} from '../../src/testing/fake-upstream-steps.ts';
import type { Asked, Exchange } from './system-client.ts';

/** The runs API as a client has it, on a server of this process or of another. */

export interface Api {
  ask(path: string, asked?: Asked): Exchange;
}

/** What `POST /v1/runs` and `/resume` answer. */
export interface StartAnswer {
  readonly run_id: string;
  readonly session_id: string;
  readonly seq: number;
  readonly state: 'queued' | 'running';
  readonly liveness: { readonly policy: string; readonly grace_ms: number };
  readonly continues?: string;
}

type Headers = Readonly<Record<string, string>>;

export const post = (api: Api, path: string, body?: unknown, headers: Headers = {}): Exchange =>
  api.ask(path, { method: 'POST', headers, ...(body !== undefined && { body }) });

/** A headless start of the session "s" with the prompt "Go", unless told otherwise. */
export const ask = (api: Api, body: object = {}, headers: Headers = {}): Exchange =>
  post(api, '/v1/runs', { prompt: 'Go', session_id: 's', ...body }, headers);

/** The same, which is to be accepted. */
export async function begin(api: Api, body: object = {}, headers: Headers = {}) {
  return await accepted(ask(api, body, headers));
}

export async function accepted(exchange: Exchange): Promise<StartAnswer> {
  const answer = await exchange.json();
  expect([await exchange.status(), answer]).toMatchObject([202, { run_id: expect.any(String) }]);
  return answer as unknown as StartAnswer;
}

export const control = (api: Api, runId: string, verb: 'cancel' | 'park' | 'resume'): Exchange =>
  post(api, `/v1/runs/${runId}/${verb}`);

/** `query` begins with a question mark where there is one. */
export const eventsOf = (api: Api, runId: string, query = '', headers: Headers = {}): Exchange =>
  api.ask(`/v1/runs/${runId}/events${query}`, { headers });

export async function recordOf(api: Api, runId: string, headers: Headers = {}): Promise<RunRecord> {
  return (await api.ask(`/v1/runs/${runId}`, { headers }).json()) as unknown as RunRecord;
}

/** The run's record after its terminal entry. */
export async function ended(api: Api, runId: string, headers: Headers = {}): Promise<RunRecord> {
  await eventsOf(api, runId, '?kind=lifecycle', headers).all();
  return recordOf(api, runId, headers);
}

/** Status, code and the field at fault: what a client's program looks at. */
export async function refusal(exchange: Exchange): Promise<readonly unknown[]> {
  const { error } = (await exchange.json()) as { error?: { code?: string; param?: string } };
  const { code, param } = error ?? {};
  return [await exchange.status(), code, ...(param === undefined ? [] : [param])];
}

export const envelopes = ({ frames }: Exchange): readonly Envelope[] =>
  frames.map(({ data }) => JSON.parse(data) as Envelope);

/** The run's own entries, read to the end of the run. */
export async function story(api: Api, runId: string): Promise<readonly JournalEvent[]> {
  const reader = eventsOf(api, runId);
  await reader.all();
  return envelopes(reader).map(({ payload }) => payload.event);
}

export const typesOf = (events: readonly JournalEvent[]): readonly string[] =>
  events.map(({ type }) => type);

/** The lifecycle entries' types, in order. */
export async function lifecycle(api: Api, runId: string): Promise<readonly string[]> {
  const reader = eventsOf(api, runId, '?kind=lifecycle');
  await reader.all();
  return typesOf(envelopes(reader).map(({ payload }) => payload.event));
}

export const says = (...text: readonly string[]): UpstreamAnswer => ({ steps: reply({ text }) });

/** Half an answer, and then nothing for as long as somebody listens. */
export const STALLED: UpstreamAnswer = { steps: [delta({ content: 'Half' }), { kind: 'stall' }] };

export interface AskedCall {
  readonly id: string;
  readonly name: string;
  /** `{}` without it. */
  readonly arguments?: UpstreamToolCall['arguments'];
}

export const callSteps = (...toolCalls: readonly AskedCall[]): UpstreamStep[] =>
  reply({ toolCalls: toolCalls.map((call) => ({ arguments: {}, ...call })) });

export const calls = (...toolCalls: readonly AskedCall[]): UpstreamAnswer => ({
  steps: callSteps(...toolCalls),
});

export const ECHO = { id: 'call_1', name: 'echo', arguments: { said: 'x' } };
export const WAITS = { id: 'call_1', name: 'waits' };

/** An answer that says `first` and goes on with `then` when `go` is called. */
export function gated(first: string, then: readonly UpstreamStep[] = reply({ text: ['!'] })) {
  const { promise: open, resolve: go } = Promise.withResolvers<void>();
  const answer: UpstreamAnswer = {
    steps: [delta({ content: first }), { kind: 'gate', open }, ...then],
  };
  return { answer, go };
}

/** Waits until a reader has an entry that is as wanted, and gives it. */
export async function heard(
  reader: Exchange,
  isIt: (event: JournalEvent) => boolean,
): Promise<Envelope> {
  const find = () => envelopes(reader).find(({ payload }) => isIt(payload.event));
  await reader.until(() => find() !== undefined);
  const entry = find();
  if (entry === undefined) throw new Error('invariant: it was there a moment ago');
  return entry;
}

/** What is asked of a person, when a run that is read by `reader` asks. */
export async function askedOf(reader: Exchange): Promise<string> {
  const { payload } = await heard(reader, ({ type }) => type === 'approval_pending');
  return (payload.event as Extract<JournalEvent, { type: 'approval_pending' }>).decision_id;
}

export const decide = (api: Api, id: string, body: object, headers: Headers = {}): Exchange =>
  post(api, `/v1/approvals/${id}`, body, headers);

/** The agent asks before it calls `echo`. */
export const ASKS_FIRST = `[hitl]
require_approval = ["echo"]
route = { mode = "conversational" }
`;

interface ListAnswer<Item> {
  readonly object: string;
  readonly data: readonly Item[];
  readonly next: string | null;
}

/** Everything of a list, read in pages of `limit`. */
export async function pagesOf<Item>(api: Api, path: string, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  for (let query = `?limit=${limit}`; ; ) {
    const page = (await api.ask(path + query).json()) as unknown as ListAnswer<Item>;
    expect(page.object).toBe('list');
    expect(page.data.length).toBeLessThanOrEqual(limit);
    items.push(...page.data);
    if (page.next === null) return items;
    query = `?limit=${limit}&after=${page.next}`;
  }
}
