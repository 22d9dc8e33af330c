import type { PlacedAgent } from './build.ts';
import type { Config, HitlConfig } from './config.ts';
import { type ConfigIssue, formatPath, type KeyPath } from './issue.ts';

/** What an agent's approvals are told to do and hardly can. */
export function oddApprovals(placed: PlacedAgent, config: Config): readonly ConfigIssue[] {
  const { hitl } = placed.agent;
  if (hitl === undefined) return [];
  const told = [
    ...lateApproval(hitl, config),
    ...lateReminder(hitl),
    ...unsigned(hitl, config),
    ...coveredRules(hitl),
  ];
  return told.map(({ path, ...rest }) => place(placed, ['hitl', ...path], rest));
}

interface Told {
  /** Below `[hitl]`. */
  readonly path: KeyPath;
  readonly problem: string;
  readonly suggestion: string;
}

/** The run's total goes on while it waits for a person, unless it is told to pause. */
function lateApproval({ route, pauseTotal }: HitlConfig, { timeouts }: Config): Told[] {
  if (pauseTotal || timeouts.totalMs === 0 || route.timeoutMs < timeouts.totalMs) return [];
  return [
    {
      path: ['route', 'timeout_secs'],
      problem: `is not below the total of a run (${timeouts.totalMs / 1_000} s), which ends first`,
      suggestion: 'Lower it, raise the total, or set hitl.pause_total = true.',
    },
  ];
}

function lateReminder({ route, reminderMs }: HitlConfig): Told[] {
  if (reminderMs === 0 || reminderMs < route.timeoutMs) return [];
  return [
    {
      path: ['reminder_secs'],
      problem: `is never reached: an approval ends after ${route.timeoutMs / 1_000} s`,
      suggestion: 'Lower it or raise hitl.route.timeout_secs.',
    },
  ];
}

function unsigned({ route }: HitlConfig, { webhookSigning }: Config): Told[] {
  if (route.mode !== 'webhook' || webhookSigning !== undefined) return [];
  return [
    {
      path: ['route', 'url'],
      problem: 'is asked without a signature and believed without one',
      suggestion: 'Set AURA_HITL_WEBHOOK_SECRET.',
    },
  ];
}

/** An earlier rule for the same tool, or for all, that has no conditions leaves nothing to decide. */
function coveredRules({ rules }: HitlConfig): Told[] {
  return rules.flatMap(({ tools }, index) => {
    const before = rules.slice(0, index).filter(({ when }) => when.length === 0);
    const seen = new Set(before.flatMap((rule) => rule.tools));
    if (!seen.has('*') && !tools.every((glob) => seen.has(glob))) return [];
    return [
      {
        path: ['rules', index],
        problem: 'has no effect: rules before it decide for all of its tools',
        suggestion: 'Move it up or remove it.',
      },
    ];
  });
}

function place(
  { document: { file, lineOf } }: PlacedAgent,
  path: KeyPath,
  rest: Omit<Told, 'path'>,
): ConfigIssue {
  const line = lineOf(path);
  return { source: file, ...(line === undefined ? {} : { line }), key: formatPath(path), ...rest };
}
