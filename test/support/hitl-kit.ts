import { afterEach, expect } from 'vitest';
import type { AgentEvent, JournalEvent } from '../../src/journal/events.ts';
import {
  cancelledContext,
  decisionContext,
  requestContext,
  signedHeaders,
  verifySigned,
} from '../../src/hitl/webhook/signing.ts';
import { type Api, begin, calls, decide, ECHO, says, story } from './api-kit.ts';
import type { Exchange } from './system-client.ts';
import { type SystemOptions, type SystemWorld, systemWorlds } from './system-world.ts';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';
import { approve, deny, type ReplyOptions, type WebhookReply } from './webhook-replies.ts';

/** People in the loop of the whole server, over HTTP and by a signed webhook. */

export const SECRET = 'rw-webhook-secret-0123456789abcdef0123';
export const SIGNS = { AURA_HITL_WEBHOOK_SECRET: SECRET };
const SIGNING = { secret: SECRET };
/** More than a busy machine needs. */
const TOLERANCE_MS = 300_000;

export interface HitlOptions {
  /** Globs that need approval; `echo` without it. */
  readonly requires?: readonly string[];
  /** Lines of `[hitl]`. */
  readonly lines?: string;
  /** Members of the route. */
  readonly route?: string;
  readonly timeoutSecs?: number;
}

/** `[hitl]` with rules, if any, as `[[hitl.rules]]` behind it: give them in `tables`. */
function hitlTable(route: string, { requires = ['echo'], lines = '' }: HitlOptions): string {
  return `[hitl]\nrequire_approval = ${JSON.stringify(requires)}\n${lines}\nroute = { ${route} }\n`;
}

/** People are asked over the inbox. */
export function inboxToml(options: HitlOptions = {}): string {
  const { timeoutSecs = 60 } = options;
  return hitlTable(`mode = "conversational", timeout_secs = ${timeoutSecs}`, options);
}

/** People are asked by this webhook. */
export function webhookToml(url: string, options: HitlOptions = {}): string {
  const { timeoutSecs = 60, route = '' } = options;
  const more = route === '' ? '' : `, ${route}`;
  return hitlTable(
    `mode = "webhook", url = "${url}", timeout_secs = ${timeoutSecs}${more}`,
    options,
  );
}

/** An answer of the webhook as it should be: signed. */
export const approved = (options: Omit<ReplyOptions, 'signing'> = {}): WebhookReply =>
  approve({ ...options, signing: SIGNING });

export const denied = (reason?: string): WebhookReply => deny(reason, { signing: SIGNING });

/** The headers of a decision by whoever has the secret. */
export const signature = (id: string, body: object): Record<string, string> => {
  const context = decisionContext(id);
  return {
    ...signedHeaders({ secret: SECRET, nowMs: Date.now(), context, body: JSON.stringify(body) }),
  };
};

/** A decision with the webhook's signature. */
export const decideSigned = (api: Api, id: string, body: object): Exchange =>
  decide(api, id, body, signature(id, body));

export interface WebhookWorldOptions extends Omit<SystemOptions, 'toml'>, HitlOptions {
  /** Whole tables beside `[hitl]`. */
  readonly tables?: string;
}

export interface WebhookWorld {
  readonly world: SystemWorld;
  readonly receiver: WebhookReceiver;
}

export interface HitlWorlds {
  start(options?: SystemOptions): Promise<SystemWorld>;
  /** A world whose agent asks a signed webhook before it calls `echo`, or what else is required. */
  startWebhook(options?: WebhookWorldOptions): Promise<WebhookWorld>;
  /** A receiver with TLS that answers as it should. Start it before the world that is to know it. */
  receive(): Promise<WebhookReceiver>;
}

/** Gives ways to start worlds and webhooks; both are checked and closed after each test of the file. */
export function hitlWorlds(): HitlWorlds {
  // Hooks run last first: the server is gone when what it sent is checked.
  const receive = webhookReceivers();
  const start = systemWorlds();
  const startWebhook: HitlWorlds['startWebhook'] = async (options = {}) => {
    const { tables = '', env, ...rest } = options;
    const receiver = await receive();
    const toml = `${tables}\n${webhookToml(receiver.url, options)}`;
    const world = await start({ mcp: ['web'], ...rest, toml, env: { ...SIGNS, ...env } });
    return { world, receiver };
  };
  return { start, startWebhook, receive };
}

/** The receivers alone, for servers in processes of their own: ask for them before those. */
export function webhookReceivers(): HitlWorlds['receive'] {
  const open: WebhookReceiver[] = [];
  afterEach(async () => {
    const receivers = open.splice(0);
    for (const receiver of receivers) await receiver.close();
    for (const receiver of receivers) expectTrusty(receiver);
  });
  return async () => {
    const receiver = await startWebhookReceiver({ tls: 'trusted' });
    receiver.reply(approved());
    open.push(receiver);
    return receiver;
  };
}

/** Whatever the test did: all of it was signed, asked under one key, and taken back once at most. */
function expectTrusty({ requests, notices }: WebhookReceiver): void {
  for (const { headers, raw, kind, decisionId } of requests) {
    const context = kind === 'notice' ? cancelledContext(decisionId) : requestContext(decisionId);
    const keys = { ...SIGNING, toleranceMs: TOLERANCE_MS, nowMs: Date.now() };
    expect(verifySigned({ headers, body: raw, context }, keys)).toEqual({
      ok: true,
      key: 'primary',
    });
    if (kind === 'question') expect(headers['idempotency-key']).toBe(decisionId);
  }
  const told = notices.map(({ decisionId }) => decisionId);
  expect(told).toEqual([...new Set(told)]);
}

/** What the notices say that came so far. */
export const noticesOf = ({ notices }: WebhookReceiver): readonly unknown[] =>
  notices.map(({ body }) => body);

/** The one notice that says that this decision is moot. */
export const notice = (decisionId: string, reason: string) => ({
  version: 1,
  decision_id: decisionId,
  reason,
});

type Event<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>;

/** The entries of this type, in order. */
export const eventsIn = <Type extends JournalEvent['type']>(
  events: readonly JournalEvent[],
  type: Type,
): readonly Event<Type>[] => events.filter((event): event is Event<Type> => event.type === type);

/** The `tool_complete` of each call, by its id. */
export const completions = (
  events: readonly JournalEvent[],
): ReadonlyMap<string, Extract<AgentEvent, { type: 'tool_complete' }>> =>
  new Map(eventsIn(events, 'tool_complete').map((event) => [event.tool_id, event]));

/** Requests of the web server that call a tool, as name and arguments. */
export const called = ({ web }: SystemWorld): readonly unknown[] =>
  web.seen
    .filter(({ rpc }) => rpc === 'tools/call')
    .map(({ body = {} }) => {
      const params = body['params'] as { name: string; arguments: unknown };
      return [params.name, params.arguments];
    });

/** What the model was told of its calls when it was asked again, by the call's id. */
export async function toldModel(
  { upstream }: { readonly upstream: SystemWorld['upstream'] },
  request = 1,
): Promise<Readonly<Record<string, string>>> {
  const { body } = await upstream.request(request);
  const messages = body['messages'] as { role: string; tool_call_id: string; content: string }[];
  const results = messages.filter(({ role }) => role === 'tool');
  return Object.fromEntries(results.map(({ tool_call_id: id, content }) => [id, content]));
}

/** A headless run whose call of `echo` needs the webhook, to its end; `told` is what the model was told. */
export async function runAsked({ world }: Pick<WebhookWorld, 'world'>) {
  world.answer(calls(ECHO), says('Done.'));
  const { run_id: runId } = await begin(world);
  const events = await story(world, runId);
  return { runId, events, told: (await toldModel(world))['call_1'] ?? '' };
}
