import type { Config } from '../config/config.ts';
import { APPROVALS_AGENT, DEMO_AGENT, DEMO_FILE } from './demo-config.ts';

export interface HintInput {
  /** Where the server listens; clients may have been given another address. */
  readonly url: string;
  readonly config: Config;
  readonly files: readonly string[];
}

/** What to type next: commands that can be copied into a second terminal as they stand. */
export function demoHints({ url: own, config, files }: HintInput): string {
  const url = (config.server.serverUrl ?? own).replace(/\/+$/, '');
  const agent =
    config.agents.find(({ id }) => id === config.server.defaultAgent) ?? config.agents[0];
  if (agent === undefined) return '';
  const isDemo = files.includes(DEMO_FILE);
  const parts = [
    `Runwarden is up on ${url}`,
    `Agent "${agent.id}" answers with ${agent.llm.provider}/${agent.llm.model}. Stop with Ctrl-C.`,
    ...(isDemo ? demoParts(url) : [hint('Chat, streaming:', stream(url, agent.id, 'Hello!'))]),
    cancelPart(url),
  ];
  return `\n${parts.join('\n\n')}\n\n`;
}

function demoParts(url: string): string[] {
  return [
    hint('Chat:', chat(url, { model: DEMO_AGENT, content: 'add 2 and 3' })),
    hint('Watch a slow tool, streaming:', stream(url, DEMO_AGENT, 'count slowly to 5')),
    hint(
      `Ask the agent "${APPROVALS_AGENT}" for something that a person must approve:`,
      stream(url, APPROVALS_AGENT, 'delete notes.txt'),
    ),
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

interface Chat {
  readonly model: string;
  readonly content: string;
  readonly streams?: boolean;
}

const stream = (url: string, model: string, content: string): string =>
  chat(url, { model, content, streams: true });

function chat(url: string, { model, content, streams = false }: Chat): string {
  const messages = [{ role: 'user', content }];
  const body = { model, ...(streams ? { stream: true } : {}), messages };
  return [
    `curl ${streams ? '-N -i ' : ''}${url}/v1/chat/completions \\`,
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
