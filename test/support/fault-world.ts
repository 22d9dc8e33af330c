import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import type { RunRecord } from '../../src/handle.ts';
import type { Envelope } from '../../src/journal/events.ts';
import type { UpstreamAnswer, UpstreamRequest } from '../../src/testing/fake-upstream.ts';
import type { UpstreamToolCall } from '../../src/testing/fake-upstream-steps.ts';
import type { Exchange } from './system-client.ts';
import type { ServerProcess } from './system-process.ts';

const TOOLS = fileURLToPath(new URL('fault-tools.ts', import.meta.url));

/** How a tool of `fault-tools.ts` behaves. */
export type How = 'quick' | 'hold' | 'once' | 'deaf' | 'kill';

export interface Witness {
  /** The table of the MCP server that writes the file. */
  readonly toml: string;
  /** How often the tool was executed for this id, in whichever process. */
  count(id: string): number;
  /** The ids that were executed more than once. */
  repeated(): readonly string[];
}

/** Gives a way to make witness files of tool executions; they go after each test. */
export function witnesses(): () => Witness {
  const made: string[] = [];
  afterEach(() => {
    for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
  });
  return () => {
    const dir = mkdtempSync(join(tmpdir(), 'runwarden-witness-'));
    made.push(dir);
    const path = join(dir, 'executions.txt');
    const cmd = JSON.stringify([process.execPath, TOOLS, path]);
    const lines = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []);
    return {
      toml: `[mcp.servers.fault]\ntransport = "stdio"\ncmd = ${cmd}`,
      count: (id) => lines().filter((line) => line === id).length,
      repeated: () => lines().filter((line, at, all) => line !== '' && all.indexOf(line) < at),
    };
  };
}

/** A call whose id is also what the witness file calls it. */
export const toolCall = (id: string, how: How, name = 'work'): UpstreamToolCall => ({
  id,
  name,
  arguments: { id, how },
});

/** What a request to the upstream is about. */
export interface Asked {
  /** The newest message of the user: a session may go on with an older conversation. */
  readonly prompt: string;
  /** Model turns that answered it before this one. */
  readonly turn: number;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

export function askedOf({ body }: UpstreamRequest): Asked {
  const messages = body['messages'] as Asked['messages']; // The strict upstream has checked it.
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const turn = messages.slice(at + 1).filter(({ role }) => role === 'assistant').length;
  return { prompt: messages[at]?.content ?? '', turn, messages };
}

export type Respond = (asked: Asked) => UpstreamAnswer | Promise<UpstreamAnswer>;

export interface Started {
  readonly run_id: string;
  readonly session_id: string;
  readonly seq: number;
}

/** Starts a run that nobody reads; rejects when it is refused. */
export async function startRun(
  server: ServerProcess,
  body: Readonly<Record<string, unknown>>,
): Promise<Started> {
  const asked = server.ask('/v1/runs', { method: 'POST', body });
  const answer = await asked.json();
  if ((await asked.status()) !== 202) throw new Error(JSON.stringify(answer));
  return answer as unknown as Started;
}

export async function recordOf(server: ServerProcess, runId: string): Promise<RunRecord> {
  return (await server.ask(`/v1/runs/${runId}`).json()) as unknown as RunRecord;
}

export const readRun = (server: ServerProcess, runId: string): Exchange =>
  server.ask(`/v1/runs/${runId}/events`);

/** The entries that a reader of events was given, as they came. */
export const linesOf = ({ frames }: Exchange): readonly string[] =>
  frames.map(({ data }) => data).filter((data) => data !== '');

export const entriesOf = (reader: Exchange): readonly Envelope[] =>
  linesOf(reader).map((line) => JSON.parse(line) as Envelope);

/** Every entry of a run, once it has its end. */
export async function wholeRun(server: ServerProcess, runId: string): Promise<readonly Envelope[]> {
  const reader = readRun(server, runId);
  await reader.all();
  if (!reader.complete) throw new Error(`The stream of ${runId} was cut: ${reader.body}`);
  return entriesOf(reader);
}

/** The run that goes on with a parked one, once its first entry is there. */
export async function continuedBy(
  server: ServerProcess,
  { session_id: sessionId, run_id: runId }: Pick<Started, 'session_id' | 'run_id'>,
): Promise<string> {
  const reader = server.ask(`/v1/sessions/${sessionId}/events?from=1`);
  const next = () =>
    entriesOf(reader).find(
      ({ payload: { event } }) => event.type === 'started' && event.continues === runId,
    );
  await reader.until(() => next() !== undefined);
  await reader.leave();
  return String(next()?.run_id);
}
