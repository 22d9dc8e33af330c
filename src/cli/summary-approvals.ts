import type { AgentConfig, ApprovalRule, Config, HitlConfig } from '../config/config.ts';
import { originOf } from '../config/redact.ts';

/** A row of the summary: its name and what it says. */
export type Row = readonly [name: string, value: string];

/** How approvals reach people of this process; nothing where no agent has something to ask. */
export function decisionRows({ server, webhookSigning, agents }: Config): readonly Row[] {
  const { deciderHeader } = server;
  const asks = agents.some(({ hitl }) => hitl?.route.mode === 'webhook');
  return [
    ...(asks || webhookSigning !== undefined
      ? [['signatures', signingText(webhookSigning)] as const]
      : []),
    ...(deciderHeader === undefined
      ? []
      : [['decided by', `who the header "${deciderHeader}" names`] as const]),
  ];
}

function signingText(signing: Config['webhookSigning']): string {
  if (signing === undefined) return 'none';
  const secrets = signing.secondary === undefined ? 'one secret' : 'two secrets';
  return `${secrets}, ${secs(signing.toleranceMs)} of tolerance`;
}

/** When and how an agent's people are asked. Shows no header's value and no path of a webhook. */
export function approvalRows({ hitl }: AgentConfig): readonly Row[] {
  if (hitl === undefined) return [['approval', 'none asked']];
  const may = [
    ...(hitl.allowArgumentEdits ? ['edit arguments'] : []),
    ...(hitl.allowSessionGrants ? ['approve for the session'] : []),
  ];
  return [
    ...hitl.rules.map((rule) => ['rule', ruleText(rule)] as const),
    ['approval', `${askedText(hitl)}; ${routeText(hitl)}`],
    ...(may.length === 0 ? [] : [['approver', `may ${may.join(' and ')}`] as const]),
  ];
}

const askedText = ({ requireApproval, rules }: HitlConfig): string => {
  const globs = requireApproval.map((glob) => `"${glob}"`);
  const asks = rules.some(({ effect }) => effect === 'approve') ? ['what a rule says'] : [];
  return [...globs, ...asks].join(', ') || 'only when the agent asks';
};

function routeText({ route, reminderMs, pauseTotal }: HitlConfig): string {
  const where = route.mode === 'webhook' ? ` at ${originOf(route.url)}` : '';
  return [
    `${route.mode}${where}`,
    secs(route.timeoutMs),
    ...(reminderMs === 0 ? [] : [`reminder each ${secs(reminderMs)}`]),
    ...(pauseTotal ? ['the total stands still'] : []),
  ].join(', ');
}

function ruleText({ tools, when, effect }: ApprovalRule): string {
  const globs = tools.map((glob) => `"${glob}"`).join(', ');
  const conditions = when.map(
    ({ pointer, op, value }) => `${JSON.stringify(pointer)} ${op} ${JSON.stringify(value)}`,
  );
  return [
    `${effect} ${globs}`,
    ...(conditions.length === 0 ? [] : [conditions.join(' and ')]),
  ].join(' when ');
}

const secs = (ms: number): string => `${ms / 1_000} s`;
