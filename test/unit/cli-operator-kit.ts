import type { ApprovalItem } from '../../src/approval-item.ts';
import type { Explanation, Page, RunRecord, SessionRecord } from '../../src/handle.ts';
import type { Payload } from '../../src/journal/events.ts';
import { createCliWorld, type CliWorld, type CliWorldOptions } from '../support/cli-world.ts';

/** A request as the server sees it. */
export interface Seen {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: unknown;
}

export type Answering = (request: Seen) => Response | Promise<Response>;

export interface OperatorWorld extends CliWorld {
  readonly requests: readonly Seen[];
}

/** A command line whose network is one server that answers by hand. */
export function operatorWorld(
  answer: Answering,
  options: Partial<CliWorldOptions> = {},
): OperatorWorld {
  const requests: Seen[] = [];
  const fetch: CliWorldOptions['fetch'] = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.text();
    const { pathname, search } = new URL(request.url);
    const seen = {
      method: request.method,
      path: `${pathname}${search}`,
      headers: request.headers,
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
    };
    requests.push(seen);
    return cancellable(await answer(seen), request.signal);
  };
  const world = createCliWorld({ cwd: '/nonexistent/runwarden-tests', fetch, ...options });
  return { ...world, requests };
}

/** Breaks off with the signal, as the real one does. */
function cancellable(response: Response, signal: AbortSignal): Response {
  signal.throwIfAborted();
  const { body, status, headers } = response;
  if (body === null) return response;
  const through = new TransformStream<Uint8Array, Uint8Array>();
  void body.pipeTo(through.writable, { signal }).catch(() => {});
  return new Response(through.readable, { status, headers });
}

export const ok = (value: unknown, status = 200): Response => Response.json(value, { status });

export const page = <T>(data: readonly T[], next: string | null = null): Response =>
  ok({ object: 'list', data, next } satisfies Page<T> & { object: 'list' });

export const refusal = (
  status: number,
  error: { message: string; type?: string; code?: string; run_id?: string },
  headers: Record<string, string> = {},
): Response => Response.json({ error }, { status, headers });

export const RUN = '019ad111-0000-7000-8000-00000000abcd';
export const NEXT_RUN = '019ad111-0000-7000-8000-00000000ef01';
export const DECISION = '019ad111-0000-7000-8000-0000000000d1';

export const runRecord = (over: Partial<RunRecord> = {}): RunRecord => ({
  run_id: RUN,
  session_id: 'chat-1',
  agent: 'helper',
  state: 'running',
  liveness: { policy: 'continue', grace_ms: 10_000 },
  created_at: -60_000,
  started_at: -59_000,
  ended_at: null,
  claims: [{ id: 'o1', presence: true }],
  observers: 2,
  deadlines: [
    { which: 'total', at: 840_000, remaining_ms: 840_000, suspended: false },
    { which: 'step', at: null, remaining_ms: 240_000, suspended: true },
  ],
  obligations: [{ what: 'tool', id: 'call_1', state: 'asked' }],
  approvals: [],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  first_seq: 1,
  last_seq: 9,
  continues: null,
  continued_by: null,
  end: null,
  verbs: ['cancel', 'attach', 'park'],
  ...over,
});

export const endOf = (over: Partial<NonNullable<RunRecord['end']>> = {}) => ({
  by: 'client',
  at: 0,
  after_ms: 61_000,
  evidence: [7, 8],
  reason: 'external' as const,
  which: null,
  error: null,
  ...over,
});

export const sessionRecord = (over: Partial<SessionRecord> = {}): SessionRecord => ({
  session_id: 'chat-1',
  created_at: -3_600_000,
  runs: 3,
  live: [RUN],
  last_run: RUN,
  state: 'running',
  last_seq: 42,
  ...over,
});

export const approvalItem = (over: Partial<ApprovalItem> = {}): ApprovalItem => ({
  decision_id: DECISION,
  run_id: RUN,
  session_id: 'chat-1',
  agent: 'helper',
  tool_name: 'delete_file',
  tool_call_id: 'call_1',
  arguments: { path: 'notes.txt' },
  arguments_digest: 'sha256:00',
  origin: { kind: 'config_gate', matched_pattern: 'delete_*' },
  route: 'conversational',
  requested_at: 0,
  expires_at: 90_000,
  state: 'pending',
  reason: null,
  decided_by: null,
  parked: false,
  edited: null,
  grant: null,
  may: { decide: 'anyone', edit: false, grant: false },
  ...over,
});

export const explanation = (over: Partial<Explanation> = {}): Explanation => ({
  run_id: RUN,
  state: 'waiting',
  prose: ['The model asked for delete_file (seq 5).', 'A person must decide.'],
  chain: [{ at: 0, kind: 'entry', seq: 5, text: 'tool_requested delete_file', detail: {} }],
  blocked_by: [
    { chart: 'turn', guard: 'areCallsDone', event: 'call.ended', because: 'one call waits' },
  ],
  ...over,
});

/** One entry as the server writes it, with its id. */
export function frame(seq: number, event: Payload['event'] | { type: string }): string {
  return `data: ${entryJson(seq, event)}\nid: ${seq}\n\n`;
}

export const entryJson = (
  seq: number,
  event: Payload['event'] | { type: string },
  runId = RUN,
): string =>
  JSON.stringify({
    session_id: 'chat-1',
    run_id: runId,
    seq,
    at: 1_000 * seq,
    payload: { kind: 'lifecycle', event },
  });

export const text = (seq: number, words: string): string =>
  frame(seq, { type: 'text_delta', text: words });

export const finished = (seq: number): string =>
  frame(seq, {
    type: 'finished',
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    end: { by: 'model', at: 0, after_ms: 1, evidence: [] },
  });

const EVENT_STREAM = { 'content-type': 'text/event-stream' };

/** A stream that says this and closes. */
export const said = (...frames: string[]): Response =>
  new Response(frames.join(''), { headers: EVENT_STREAM });

/** A stream that says this and stays open; `fail` breaks it. */
export function open(...frames: string[]): { response: Response; fail: () => void } {
  let fail = (): void => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const one of frames) controller.enqueue(new TextEncoder().encode(one));
      fail = () => controller.error(new TypeError('terminated'));
    },
  });
  return { response: new Response(body, { headers: EVENT_STREAM }), fail: () => fail() };
}

/** Lets the event loop turn until something is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise<void>((next) => setImmediate(next));
}
