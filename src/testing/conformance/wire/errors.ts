import { type Ask, expectError } from '../acts/api.ts';
import { expectSame, Mismatch } from '../acts/mismatch.ts';
import type { Stage } from '../acts/stage.ts';
import { AGENTS } from '../kit/agents.ts';
import type { WireCheck } from './wire-check.ts';

const agent = AGENTS.plain;
const messages = [{ role: 'user', content: 'x' }];

/** Bodies that a start refuses, and the field that it must name. */
const STARTS: readonly [body: object, field: string][] = [
  [{ agent }, 'prompt'],
  [{ agent, prompt: ' ' }, 'prompt'],
  [{ agent, prompt: 'x', messages }, 'messages'],
  [{ agent, messages: [] }, 'messages'],
  [{ agent, prompt: 'x', timeout_ms: -1 }, 'timeout_ms'],
  [{ agent, prompt: 'x', on_busy: 'perhaps' }, 'on_busy'],
  [{ agent, prompt: 'x', liveness: { policy: 'perhaps' } }, 'liveness.policy'],
  [{ agent, prompt: 'x', liveness: { grace_ms: 0.5 } }, 'liveness.grace_ms'],
  [{ agent, prompt: 'x', session_id: 'x'.repeat(300) }, 'session_id'],
];

/** The same of a chat. */
const CHATS: readonly [body: object, field: string][] = [
  [{ model: agent }, 'messages'],
  [{ model: agent, messages: [] }, 'messages'],
  [{ model: agent, messages, stream: 'yes' }, 'stream'],
];

const QUERIES: readonly [path: string, field: string][] = [
  ['/v1/runs?limit=nothing', 'limit'],
  ['/v1/runs?state=perhaps', 'state'],
  ['/v1/approvals?state=perhaps', 'state'],
];

/** What is wrong is refused before anything begins, and the answer says what it is. */
export const ERROR_CHECKS: readonly WireCheck[] = [
  ...STARTS.map(([body, field]) => refused('/v1/runs', body, field)),
  ...CHATS.map(([body, field]) => refused('/v1/chat/completions', body, field)),
  ...QUERIES.map(
    ([path, field]): WireCheck => [
      `GET ${path} names ${field}`,
      async ({ api }) => expectError(await api.ask(path), 400, 'invalid_request_error', field),
    ],
  ),
  ['a body that is no JSON is 400', (stage) => status(stage, { body: '{"prompt": ' }, 400)],
  ['a body of another type is 415', wrongType],
  ['a path that is not there is 404', unknownPath],
  ['a method that is not there is 405 and says which are', wrongMethod],
  ['a decision without a decision is 400', emptyDecision],
];

function refused(path: string, body: object, field: string): WireCheck {
  const sentence = `POST ${path} names ${field}: ${JSON.stringify(body).slice(0, 80)}`;
  return [
    sentence,
    async ({ api }) => expectError(await api.post(path, body), 400, 'invalid_request_error', field),
  ];
}

async function status({ api }: Stage, asked: Ask, wanted: number): Promise<void> {
  const answer = await api.ask('/v1/runs', { method: 'POST', ...asked });
  expectSame('the status', answer.status, wanted);
}

async function wrongType(stage: Stage): Promise<void> {
  await status(stage, { body: 'prompt=x', headers: { 'content-type': 'text/plain' } }, 415);
}

async function unknownPath({ api }: Stage): Promise<void> {
  expectError(await api.ask('/v1/nothing'), 404, 'not_found');
}

async function wrongMethod({ api }: Stage): Promise<void> {
  const answer = await api.ask('/v1/chat/completions', { method: 'DELETE' });
  expectError(answer, 405, 'method_not_allowed');
  const allowed = answer.headers.get('allow') ?? '';
  if (!allowed.includes('POST')) throw new Mismatch('an Allow header with POST', allowed);
}

async function emptyDecision({ api }: Stage): Promise<void> {
  const answer = await api.post('/v1/approvals/00000000-0000-7000-8000-000000000000', {});
  expectError(answer, 400, 'invalid_request_error', 'approved');
}
