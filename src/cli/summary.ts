import type { AgentConfig, Config, LlmConfig, ToolLimitConfig } from '../config/config.ts';
import type { LoadedConfig } from '../config/load.ts';
import { plainUrl } from '../config/redact.ts';
import { summarizeServer } from '../mcp/server-config.ts';
import { approvalRows, decisionRows } from './summary-approvals.ts';

/** A configuration as a person reads it. Holds no key, no hash, no header value, no argument. */
export function summarize({ config, files }: LoadedConfig): string {
  const count = counted(config.agents.length, 'agent');
  const rows = [
    `The configuration is valid: ${count} from ${files.join(', ')}.`,
    '',
    ...processRows(config),
    ...config.agents.flatMap((agent) => ['', ...agentRows(agent, config)]),
  ];
  return `${rows.join('\n')}\n`;
}

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? '' : 's'}`;

const row = (name: string, value: string): string => `  ${name.padEnd(12)}${value}`;

function processRows(config: Config): string[] {
  const { server, journal, timeouts } = config;
  return [
    'server',
    row('listens on', `${server.host}:${server.port}`),
    row('access', accessText(config)),
    row('journal', `${journalPlace(config)}, survives a ${journal.durability} failure`),
    row('keeps', keepsText(journal)),
    row('chats', seamText(config, 'chat')),
    row('headless', seamText(config, 'headless')),
    row('crash', `runs at work ${recovery(config)}`),
    row('parked runs', parkText(config.park)),
    row('tools', `${config.parallelToolsMax} at a time, shown as "${server.toolResultMode}"`),
    row('events', server.customEvents ? 'aura.* by default' : 'aura.* on request'),
    ...decisionRows(config).map(([name, value]) => row(name, value)),
    row('shutdown', `${secs(server.shutdownTimeoutMs)} of grace`),
    row('timeouts', timeoutText(timeouts)),
    ...config.tools.map((tool) => row('tool', toolText(tool))),
  ];
}

function toolText({ glob, timeoutMs, idempotent }: ToolLimitConfig): string {
  const time = timeoutMs === undefined ? [] : [limit(timeoutMs)];
  return [`"${glob}"`, ...time, ...(idempotent ? ['executed again after a crash'] : [])].join(', ');
}

function accessText({ auth }: Config): string {
  if (auth === undefined) return 'open to everyone who can reach it';
  const tenants = new Set(auth.keys.map(({ tenant }) => tenant)).size;
  return `${counted(auth.keys.length, 'key')} of ${counted(tenants, 'tenant')}`;
}

function keepsText({ retentionMs, sessionBytesMax, totalBytesMax }: Config['journal']): string {
  const bytes = (max: number): string => (max === 0 ? 'no bound' : `${max} bytes`);
  const age = retentionMs === 0 ? 'everything' : secs(retentionMs);
  return `${age}, ${bytes(sessionBytesMax)} a session, ${bytes(totalBytesMax)} in all`;
}

function seamText({ liveness, onBusy }: Config, seam: 'chat' | 'headless'): string {
  const { policy, graceMs } = liveness[seam];
  const when = graceMs === 0 ? 'at once' : `after ${secs(graceMs)}`;
  return `${policy} ${when} without a reader, ${onBusy[seam]} in a busy session`;
}

const recovery = ({ crash }: Config): string =>
  crash.recover === 'resume' ? 'resume, under continue or park' : 'fail';

const parkText = ({ resumeOnStart, resumeConcurrency }: Config['park']): string =>
  resumeOnStart ? `resumed at the start, ${resumeConcurrency} at a time` : 'resumed when asked to';

const journalPlace = ({ journal, server }: Config): string =>
  journal.store === 'memory' ? 'in memory' : `${journal.store} in ${server.dataDir}`;

function timeoutText(timeouts: Config['timeouts']): string {
  return Object.entries(timeouts)
    .map(([name, ms]) => `${words(name)} ${limit(ms)}`)
    .join(', ');
}

/** `toolStopGraceMs` reads "tool stop grace". */
const words = (name: string): string =>
  name.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const secs = (ms: number): string => `${ms / 1_000} s`;

const limit = (ms: number): string => (ms === 0 ? 'off' : secs(ms));

function agentRows(agent: AgentConfig, { server }: Config): string[] {
  const marks = [
    ...(agent.id === server.defaultAgent ? ['default'] : []),
    ...(agent.hidden ? ['hidden'] : []),
  ];
  return [
    `agent ${agent.id}${marks.length === 0 ? '' : ` (${marks.join(', ')})`}`,
    row('model', modelText(agent.llm)),
    row('prompt', promptText(agent)),
    ...agent.mcp.servers.map((one) => {
      const summary = summarizeServer(one);
      const place = summary.transport === 'stdio' ? summary.command : summary.url;
      return row('mcp', `${one.name} (${one.transport}, ${place})`);
    }),
    ...approvalRows(agent).map(([name, value]) => row(name, value)),
  ];
}

const promptText = ({ systemPrompt, turnDepth }: AgentConfig): string =>
  `${counted(systemPrompt.length, 'character')}, ${counted(turnDepth, 'turn')}`;

function modelText(llm: LlmConfig): string {
  const name = `${llm.provider}/${llm.model}`;
  if (llm.provider === 'scripted') return `${name}, built in`;
  return llm.baseUrl === undefined
    ? `${name}, key set`
    : `${name} at ${plainUrl(llm.baseUrl)}, key set`;
}
