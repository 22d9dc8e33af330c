import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { ElicitRequestFormParams, ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { TIMER_MS_MAX } from '../clock.ts';
import type { Scratch } from './demo-files.ts';

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
const failure = (said: string) => ({ ...text(said), isError: true });

/** Where the scratch directory keeps what was deployed, a line of JSON each. */
const LOG_FILE = 'deployments.log';

const question = (service: string): ElicitRequestFormParams => ({
  message: `Why is ${service} deployed, and where to?`,
  requestedSchema: {
    type: 'object',
    properties: {
      reason: { type: 'string', title: 'Reason', minLength: 3, maxLength: 200 },
      environment: { type: 'string', title: 'Environment', enum: ['staging', 'production'] },
    },
    required: ['reason', 'environment'],
  },
});

/**
 * Adds `deploy`, which asks a person for the reason while it works, and then writes down what it was
 * told. Without an answer it does nothing.
 */
export function registerDeployTool(server: McpServer, scratch: Scratch): void {
  server.registerTool(
    'deploy',
    {
      description: 'Writes down a deployment, after asking a person for its reason.',
      inputSchema: { service: z.string().regex(/^[\w.-]{1,64}$/) },
    },
    async ({ service }, { requestId: relatedRequestId }) => {
      if (server.server.getClientCapabilities()?.elicitation === undefined) {
        return failure('This client cannot ask a person, so nothing was deployed.');
      }
      // The person's time is bounded by the client, which knows how long to wait.
      const how = { relatedRequestId, timeout: TIMER_MS_MAX };
      return deploy(service, await server.server.elicitInput(question(service), how), scratch);
    },
  );
}

async function deploy(service: string, { action, content }: ElicitResult, scratch: Scratch) {
  if (action === 'decline') return text('A person refused, so nothing was deployed.');
  if (action === 'cancel') return failure('Nobody answered, so nothing was deployed.');
  const line = `${JSON.stringify({ service, ...content })}\n`;
  await appendFile(join(scratch.directory, LOG_FILE), line);
  return text(
    `Deployed ${service} to ${String(content?.['environment'])}: ${String(content?.['reason'])}`,
  );
}
