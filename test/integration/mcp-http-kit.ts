import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';
import type { HttpServerConfig } from '../../src/mcp/server-config.ts';

export interface SeenRequest {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  /** The JSON-RPC method of the body, where there was one. */
  readonly rpc: string | undefined;
  readonly body: Record<string, unknown> | undefined;
}

export interface HttpServerOptions {
  readonly transport?: 'http_streamable' | 'sse';
  readonly json?: boolean;
  /** Adds tools of its own to the server of each session. */
  readonly tools?: (server: McpServer) => void;
  /** Answers before MCP does; true when it has. */
  readonly intercept?: (request: SeenRequest, response: ServerResponse) => boolean;
}

/** An MCP server of the SDK on loopback that remembers every request. */
export async function startHttpServer(options: HttpServerOptions = {}) {
  const seen: SeenRequest[] = [];
  const cancelled: unknown[] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport | SSEServerTransport>();
  const sockets = new Set<Socket>();
  const waiters = new Set<() => void>();
  const changed = () => {
    for (const look of [...waiters]) look();
  };
  const kind = options.transport ?? 'http_streamable';

  const open = async (transport: Transport) => {
    const server = createMcpServer((reason) => {
      cancelled.push(reason);
      changed();
    });
    options.tools?.(server);
    await server.connect(transport);
  };

  const http: Server = createServer((request, response) => {
    void (async () => {
      const body = await readJson(request);
      const rpc = typeof body?.['method'] === 'string' ? body['method'] : undefined;
      const note = { method: request.method ?? '', headers: request.headers, rpc, body };
      seen.push(note);
      changed();
      if (options.intercept?.(note, response) === true) return;
      if (kind === 'sse') await serveSse(request, response, { body, sessions, open });
      else await serveStreamable(request, response, { body, sessions, open, json: options.json });
    })();
  });
  http.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      changed();
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;

  return {
    port,
    seen,
    cancelled,
    sessions,
    sockets,
    config: (more: Partial<HttpServerConfig> = {}): HttpServerConfig => ({
      name: 'web',
      transport: kind,
      url: `http://127.0.0.1:${port}/mcp`,
      headers: {},
      headersFromRequest: {},
      ...more,
    }),
    until: (isSo: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (!isSo()) return;
          waiters.delete(look);
          resolve();
        };
        waiters.add(look);
        look();
      }),
    /** Cuts every connection, as a crash would. */
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

function createMcpServer(onCancelled: (reason: unknown) => void) {
  const server = new McpServer({ name: 'web', version: '1.0.0' });
  server.registerTool('echo', { inputSchema: { said: z.string() } }, async ({ said }) =>
    text(said),
  );
  server.registerTool('headers', { inputSchema: {} }, async (_args, extra) => {
    const { authorization, 'x-team': team } = extra.requestInfo?.headers ?? {};
    return text(JSON.stringify({ authorization, team }));
  });
  server.registerTool('throws', { inputSchema: {} }, async () => {
    throw new Error('no luck');
  });
  server.registerTool('waits', { inputSchema: {} }, async (_args, extra) => {
    const progressToken = extra._meta?.progressToken;
    if (progressToken !== undefined) {
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress: 1, total: 3 },
      });
    }
    await new Promise<void>((resolve) =>
      extra.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    onCancelled(extra.signal.reason);
    return text('late');
  });
  server.registerTool('grows', { inputSchema: {} }, async () => {
    server.registerTool('grown', { inputSchema: {} }, async () => text('grown'));
    return text('ok');
  });
  return server;
}

interface Serving {
  readonly body: Record<string, unknown> | undefined;
  readonly sessions: Map<string, StreamableHTTPServerTransport | SSEServerTransport>;
  readonly open: (transport: Transport) => Promise<void>;
  readonly json?: boolean | undefined;
}

async function serveStreamable(
  request: IncomingMessage,
  response: ServerResponse,
  { body, sessions, open, json }: Serving,
): Promise<void> {
  const id = request.headers['mcp-session-id'];
  let transport = typeof id === 'string' ? sessions.get(id) : undefined;
  if (transport === undefined && body?.['method'] !== 'initialize') {
    response.writeHead(404).end('no such session');
    return;
  }
  if (transport === undefined) {
    const fresh = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: json ?? false,
      onsessioninitialized: (session) => void sessions.set(session, fresh),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    await open(fresh as Transport);
    transport = fresh;
  }
  await (transport as StreamableHTTPServerTransport).handleRequest(request, response, body);
}

async function serveSse(
  request: IncomingMessage,
  response: ServerResponse,
  { body, sessions, open }: Serving,
): Promise<void> {
  if (request.method === 'GET') {
    const transport = new SSEServerTransport('/messages', response);
    sessions.set(transport.sessionId, transport);
    await open(transport);
    return;
  }
  const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId') ?? '';
  const transport = sessions.get(id) as SSEServerTransport | undefined;
  if (transport === undefined) response.writeHead(404).end();
  else await transport.handlePostMessage(request, response, body);
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const raw = Buffer.concat(parts).toString();
  return raw === '' ? undefined : (JSON.parse(raw) as Record<string, unknown>);
}

export type HttpFixture = Awaited<ReturnType<typeof startHttpServer>>;
