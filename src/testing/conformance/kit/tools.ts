import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { TOOLS } from './agents.ts';
import { Mailboxes } from './mailbox.ts';

type Json = Readonly<Record<string, unknown>>;

/** One use of a tool, or one question to the webhook, which its path answers. */
export interface Asked {
  readonly tool: string;
  answer(answer: ToolAnswer): void;
}

export type ToolAnswer =
  | { readonly text: string; readonly isError?: boolean }
  /** The webhook alone: a decision, or a status that is none. */
  | { readonly approved: boolean }
  | { readonly status: number };

/** What a path's tools and its webhook were asked, by the mark in the arguments. */
class ToolRoom {
  readonly calls = new Mailboxes<Asked>();
  readonly questions = new Mailboxes<Asked>();
  #onItsOwn = false;

  take(box: Mailboxes<Asked>, which: string, asked: Asked): void {
    if (this.#onItsOwn) asked.answer(asked.tool === WEBHOOK ? { approved: true } : { text: 'ok' });
    else box.of(which).put(asked);
  }

  /** From now on all succeed, those that wait included. */
  answerAll(): void {
    this.#onItsOwn = true;
    for (const which of ['a', 'b']) {
      void this.calls
        .of(which)
        .next()
        .then((call) => call.answer({ text: 'ok' }));
      void this.questions
        .of(which)
        .next()
        .then((asked) => asked.answer({ approved: true }));
    }
  }
}

const WEBHOOK = 'webhook';
const PATHS = { mcp: '/mcp', webhook: '/decide' } as const;
const BODY_BYTES_MAX = 1_048_576;

/** The MCP server and the webhook that the server under test must use, on one port. */
export class ScriptedTools {
  readonly #server: Server;
  readonly #rooms = new Map<string, ToolRoom>();
  /** Calls that the client has not cancelled and that wait, by session and JSON-RPC id. */
  readonly #open = new Map<string, () => void>();
  #sessions = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  /** Listens on loopback; port 0 lets the system choose. */
  static async start(port: number): Promise<ScriptedTools> {
    const tools = new ScriptedTools();
    tools.#server.listen(port, '127.0.0.1');
    await once(tools.#server, 'listening');
    return tools;
  }

  get mcpUrl(): string {
    return `${this.#origin()}${PATHS.mcp}`;
  }

  get webhookUrl(): string {
    return `${this.#origin()}${PATHS.webhook}`;
  }

  room(path: string): ToolRoom {
    const room = this.#rooms.get(path) ?? new ToolRoom();
    this.#rooms.set(path, room);
    return room;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #origin(): string {
    // A server that listens on TCP has an address of this shape.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readJson(request);
    if (request.url === PATHS.webhook) return this.#decide(request, response, body);
    if (request.url !== PATHS.mcp) return send(response, 404);
    if (request.method === 'DELETE') return send(response, 200);
    if (request.method !== 'POST') return send(response, 405);
    await this.#rpc(request, response, body);
  }

  /** One JSON-RPC message; answers are JSON, which the transport allows for any of them. */
  async #rpc(request: IncomingMessage, response: ServerResponse, body: Json): Promise<void> {
    const { id, method } = body;
    const params = fields(body['params']);
    const session = String(request.headers['mcp-session-id'] ?? '');
    if (method === 'notifications/cancelled')
      this.#open.get(keyOf(session, params['requestId']))?.();
    if (id === undefined) return send(response, 202);
    const result = (value: Json): void =>
      send(response, 200, { jsonrpc: '2.0', id, result: value });
    if (method === 'initialize') {
      this.#sessions += 1;
      response.setHeader('mcp-session-id', `session-${this.#sessions}`);
      return result(initialized(params));
    }
    if (method === 'tools/list') return result({ tools: TOOL_LIST });
    if (method !== 'tools/call') return result({});
    this.#call(keyOf(session, id), params, (answer) => result(contentOf(answer)));
  }

  #call(key: string, params: Json, answer: (answer: ToolAnswer) => void): void {
    const { path, which } = fields(params['arguments']);
    const over = (given: ToolAnswer): void => {
      if (this.#open.delete(key)) answer(given);
    };
    this.#open.set(key, () => over({ text: 'cancelled', isError: true }));
    const room = this.room(String(path));
    const asked = { tool: String(params['name']), answer: over };
    room.take(room.calls, String(which), asked);
  }

  #decide(request: IncomingMessage, response: ServerResponse, body: Json): void {
    if (request.headers['x-aura-event'] === 'approval-cancelled') return send(response, 200);
    const [item] = Array.isArray(body['items']) ? body['items'] : [];
    const { path, which } = fields(fields(item)['arguments']);
    const answer = (given: ToolAnswer): void => {
      if ('status' in given) send(response, given.status);
      else if ('approved' in given) send(response, 200, { approved: given.approved });
    };
    const room = this.room(String(path));
    room.take(room.questions, String(which), { tool: WEBHOOK, answer });
  }
}

/** Ids of JSON-RPC are numbers or texts, and 1 is not "1". */
const keyOf = (session: string, id: unknown): string => JSON.stringify([session, id]);

const TOOL_LIST = Object.values(TOOLS).map((name) => ({
  name,
  description: 'Does what a path of the conformance kit says.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, which: { type: 'string' } },
    required: ['path', 'which'],
  },
}));

const initialized = (params: Json): Json => ({
  protocolVersion: params['protocolVersion'],
  capabilities: { tools: {} },
  serverInfo: { name: 'runwarden-conformance', version: '1.0.0' },
});

const contentOf = (answer: ToolAnswer): Json =>
  'text' in answer
    ? { content: [{ type: 'text', text: answer.text }], isError: answer.isError === true }
    : {};

const fields = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? { ...value } : {};

function send(response: ServerResponse, status: number, body?: Json): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<Json> {
  let text = '';
  request.setEncoding('utf8');
  for await (const piece of request) {
    text += String(piece);
    if (text.length > BODY_BYTES_MAX) throw new Error('The body is too long.');
  }
  return text === '' ? {} : fields(JSON.parse(text));
}
