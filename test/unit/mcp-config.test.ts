import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { cancelReasonOf } from '../../src/mcp/cancel-reason.ts';
import {
  describeFailure,
  describeSpawnError,
  OversizedMessageError,
} from '../../src/mcp/failures.ts';
import { resolveHeaders } from '../../src/mcp/headers.ts';
import { redactorOf } from '../../src/mcp/redact.ts';
import { type HttpServerConfig, summarizeServer } from '../../src/mcp/server-config.ts';

const http = (more: Partial<HttpServerConfig> = {}): HttpServerConfig => ({
  name: 'web',
  transport: 'http_streamable',
  url: 'http://host/mcp',
  headers: {},
  headersFromRequest: {},
  ...more,
});

describe('the summary of a server', () => {
  const stdio = (cmd: string[]) =>
    summarizeServer({ name: 's', transport: 'stdio', cmd, args: ['--key=x'], env: { K: 'v' } });

  it('is the basename of its command', () => {
    expect(stdio(['/opt/tools/serve', '--secret'])).toEqual({
      name: 's',
      transport: 'stdio',
      command: 'serve',
    });
  });

  it.each([[[]], [['']], [['/']]])('is <unknown> for the command %j', (cmd) => {
    expect(stdio(cmd)).toMatchObject({ command: '<unknown>' });
  });

  it.each([
    ['https://user:pw@host:8443/path?key=1#x', 'https://host:8443'],
    ['http://host', 'http://host'],
    ['file:///etc/passwd', '<invalid url>'],
    ['host/mcp', '<invalid url>'],
    ['', '<invalid url>'],
  ])('of %j is the origin %j', (url, origin) => {
    expect(summarizeServer(http({ url, description: 'd' }))).toEqual({
      name: 'web',
      transport: 'http_streamable',
      url: origin,
      description: 'd',
    });
  });
});

describe('the headers of a connection', () => {
  it('are lower-case and overlaid by the request where it has a value', () => {
    const config = http({
      headers: { Authorization: 'Token static', 'X-A': '1' },
      headersFromRequest: { AUTHORIZATION: 'X-User', 'x-b': 'X-Missing' },
    });
    expect(resolveHeaders(config, { 'x-user': 'Token abc' })).toEqual({
      authorization: 'Token abc',
      'x-a': '1',
    });
    expect(resolveHeaders(config, {})).toEqual({ authorization: 'Token static', 'x-a': '1' });
  });

  it('pass over a value of the request that no header can hold', () => {
    const config = http({ headers: { a: 'x' }, headersFromRequest: { a: 'a' } });
    expect(resolveHeaders(config, { a: 'bad\u{1F600}' })).toEqual({ a: 'x' });
  });

  it('carry the user name of the URL, unless there are credentials already', () => {
    const url = 'http://me:p%40ss@host/mcp';
    expect(resolveHeaders(http({ url }), {})).toEqual({
      authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
    });
    expect(resolveHeaders(http({ url, headers: { Authorization: 'x' } }), {})).toEqual({
      authorization: 'x',
    });
  });

  it.each([
    [{ headers: { 'mcp-session-id': 'x' } }, '"mcp-session-id"'],
    [{ headersFromRequest: { Host: 'x' } }, '`headers_from_request`'],
    [{ headers: { 'a b': 'x' } }, '"a b" is not a header name'],
  ])('are refused for %j, naming the culprit', (more, told) => {
    expect(() => resolveHeaders(http(more), {})).toThrow(told);
  });
});

describe('a reason', () => {
  const config = http({ url: 'http://me:pass-word@host/?key=query-secret' });
  const redact = redactorOf(config, { authorization: 'Bearer header-secret' });
  const describe_ = (error: unknown, closed = false) =>
    describeFailure(error, { redact, charsMax: 40, closed });

  it.each([
    [new StreamableHTTPError(503, 'words of the server'), 'server returned HTTP 503'],
    [new Error('Error POSTing to endpoint (HTTP 502): words'), 'server returned HTTP 502'],
    [new McpError(-32602, 'no such tool'), 'MCP error -32602: no such tool'],
    // Words of the server, whatever they look like.
    [new McpError(-32000, 'out of paper'), 'MCP error -32000: out of paper'],
    [
      new McpError(-32603, 'upstream said (HTTP 404)'),
      'MCP error -32603: upstream said (HTTP 404)',
    ],
    [new Error('it wrote (HTTP 404)'), 'the connection failed'],
    [new SyntaxError('Unexpected token "secret"'), 'the server sent a message that is not JSON'],
    [new OversizedMessageError(10_485_760), 'the server sent a message over 10 MiB'],
    [new OversizedMessageError(1_000), 'the server sent a message over 1000 bytes'],
    [
      new TypeError('fetch failed', {
        cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }),
      }),
      'the connection failed (ENOTFOUND)',
    ],
    [
      new TypeError('Headers.append: "Bearer header-secret" is an invalid header value.'),
      'the connection failed',
    ],
    ['anything', 'the connection failed'],
  ])('for %s is %j', (error, reason) => {
    expect(describe_(error)).toBe(reason);
  });

  it('is the close of the connection only when the transport has closed', () => {
    const error = new McpError(-32000, 'Connection closed');
    expect(describe_(error, true)).toBe('the connection closed');
    expect(describe_(error, false)).toBe('MCP error -32000: Connection closed');
  });

  it.each(['header-secret', 'Bearer header-secret', 'pass-word', 'query-secret'])(
    'never repeats the secret %s',
    (secret) => {
      const said = describe_(new McpError(-32603, `I got ${secret}`));
      expect(said).toBe('MCP error -32603: I got [redacted]');
    },
  );

  it('is bounded', () => {
    expect(describe_(new McpError(-32603, 'x'.repeat(500)))).toBe(
      `MCP error -32603: ${'x'.repeat(40)}…`,
    );
  });

  it('names a command by its basename alone', () => {
    const error = Object.assign(new Error('spawn /a/b/tool ENOENT'), { code: 'ENOENT' });
    expect(describeSpawnError(error, '/a/b/tool')).toBe(
      'the command "tool" was not found; check `cmd` of this server',
    );
  });
});

describe('the reason of a cancellation', () => {
  const wrapped = new Error('stopped', { cause: { kind: 'shutdown' } });
  it.each([
    [{ kind: 'unclaimed' }, 'client disconnected'],
    [{ kind: 'deadline', which: 'total', afterMs: 1 }, 'timeout'],
    [{ kind: 'shutdown' }, 'server shutdown'],
    [wrapped, 'server shutdown'],
    [{ kind: 'external' }, 'cancelled by an operator'],
    [new DOMException('late', 'TimeoutError'), 'timeout'],
    [new Error('x'), 'the run stopped'],
    [undefined, 'the run stopped'],
  ])('for %s is %j', (reason, said) => {
    expect(cancelReasonOf(reason)).toBe(said);
  });
});
