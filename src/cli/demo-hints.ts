import type { AgentConfig, Config } from '../config/config.ts';
import { DEMO_FILE } from './demo-config.ts';

export interface HintInput {
  readonly url: string;
  readonly config: Config;
  readonly files: readonly string[];
}

/** What to type next: commands that can be copied into a second terminal as they stand. */
export function demoHints({ url, config, files }: HintInput): string {
  const agent =
    config.agents.find(({ id }) => id === config.server.defaultAgent) ?? config.agents[0];
  if (agent === undefined) return '';
  const isDemo = files.includes(DEMO_FILE);
  const parts = [
    `Runwarden is up on ${url}`,
    `Agent "${agent.id}" answers with ${agent.llm.provider}/${agent.llm.model}. Stop with Ctrl-C.`,
    ...(isDemo ? demoParts(url, agent) : [hint('Chat, streaming:', chat(url, agent, 'Hello!'))]),
    cancelPart(url),
  ];
  return `\n${parts.join('\n\n')}\n\n`;
}

function demoParts(url: string, agent: AgentConfig): string[] {
  return [
    hint('Watch a slow tool, streaming:', chat(url, agent, 'count slowly to 5')),
    hint('Ask for something that a person must approve:', chat(url, agent, 'delete notes.txt')),
    [
      'The stream now waits. Its frame "event: aura.approval_pending" has a "decision_id"; put it',
      'in place of DECISION_ID in another terminal ("approved":false denies):',
      '',
      indent(approve(url)),
    ].join('\n'),
  ];
}

function cancelPart(url: string): string {
  return [
    'Cancel a run: close its stream with Ctrl-C, or from another terminal, with the value of the',
    'response header X-Run-Id that "curl -i" shows:',
    '',
    indent(`curl -X POST ${url}/v1/runs/RUN_ID/cancel`),
  ].join('\n');
}

const hint = (title: string, command: string): string => `${title}\n\n${indent(command)}`;

const indent = (text: string): string => text.replace(/^/gm, '  ');

const JSON_TYPE = "-H 'Content-Type: application/json'";

function chat(url: string, agent: AgentConfig, content: string): string {
  const body = { model: agent.id, stream: true, messages: [{ role: 'user', content }] };
  return [
    `curl -N -i ${url}/v1/chat/completions \\`,
    `  ${JSON_TYPE} \\`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join('\n');
}

function approve(url: string): string {
  return [
    `curl -X POST ${url}/v1/approvals/DECISION_ID \\`,
    `  ${JSON_TYPE} \\`,
    `  -d '{"approved":true}'`,
  ].join('\n');
}

/** As one word for a shell: an agent's id may hold a quote. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
