import { describe, expect, it } from 'vitest';
import * as library from '../../src/index.ts';
import {
  type AgentDefinition,
  type ApprovalFilter,
  type ApprovalItem,
  type ApprovalOrigin,
  type ApprovalRoute,
  type ApprovalRule,
  type ApprovalState,
  type ApprovalWatcher,
  type Decision,
  type DecisionAnswer,
  type DecisionCommand,
  DecisionRefusedError,
  type Elicitation,
  type ElicitationAnswer,
  type JsonScalar,
  type RuleCondition,
  type SupervisorHandle,
  SupervisorError,
  type ToolContext,
  type WebhookAnswer,
  type WebhookChannel,
  type WebhookContext,
  type WebhookQuestion,
} from '../../src/index.ts';

/**
 * Hazard: a type that one needs to write an agent has no name outside, or a name that somebody uses
 * is gone. The compiler checks the types of this file.
 */

/** What each place of the surface takes or gives has a name of its own there. */
interface Names {
  readonly rules: readonly ApprovalRule[] extends AgentDefinition['approvalRules'] ? true : never;
  readonly condition: RuleCondition extends NonNullable<ApprovalRule['when']>[number]
    ? true
    : never;
  readonly scalar: JsonScalar extends Extract<RuleCondition, { op: 'eq' | 'ne' }>['value']
    ? true
    : never;
  readonly channel: WebhookChannel extends AgentDefinition['approvalChannel'] ? true : never;
  readonly asked: [WebhookQuestion, WebhookContext] extends Parameters<WebhookChannel['ask']>
    ? true
    : never;
  readonly answered: Promise<WebhookAnswer> extends ReturnType<WebhookChannel['ask']>
    ? true
    : never;
  readonly origin: ApprovalOrigin extends WebhookQuestion['origin'] ? true : never;
  readonly decision: DecisionCommand extends Decision ? true : never;
  readonly decided: Promise<DecisionAnswer> extends ReturnType<SupervisorHandle['decide']>
    ? true
    : never;
  readonly watched: [ApprovalFilter, ApprovalWatcher] extends Parameters<
    SupervisorHandle['watchApprovals']
  >
    ? true
    : never;
  readonly state: ApprovalState extends ApprovalItem['state'] ? true : never;
  readonly route: ApprovalRoute extends ApprovalItem['route'] ? true : never;
  readonly elicited: Elicitation extends Parameters<NonNullable<ToolContext['elicit']>>[0]
    ? true
    : never;
  readonly told: Promise<ElicitationAnswer> extends ReturnType<NonNullable<ToolContext['elicit']>>
    ? true
    : never;
}

const NAMES: Names = {
  rules: true,
  condition: true,
  scalar: true,
  channel: true,
  asked: true,
  answered: true,
  origin: true,
  decision: true,
  decided: true,
  watched: true,
  state: true,
  route: true,
  elicited: true,
  told: true,
};

describe('the public surface', () => {
  it('has these values and no others', () => {
    expect(Object.keys(library).toSorted()).toEqual([
      'AgentNotFoundError',
      'DecisionRefusedError',
      'IdempotencyKeyReusedError',
      'ModelError',
      'PolicyUnsupportedError',
      'RunNotFoundError',
      'RunStateError',
      'SessionBusyError',
      'ShuttingDownError',
      'StoreUnavailableError',
      'SupervisorError',
      'TenantLimitError',
      'TooManyRunsError',
      'checkJournal',
      'createMemoryStore',
      'createOpenAiProvider',
      'createScriptedProvider',
      'createSupervisor',
      'loadConfig',
      'modelFromGenerator',
      'openSqliteStore',
      'randomIds',
      'startServer',
      'systemClock',
    ]);
  });

  it('names what approvals take and give', () => {
    expect(Object.values(NAMES)).not.toContain(undefined);
    expect(new DecisionRefusedError('edits_not_allowed', 'No.', 'arguments')).toBeInstanceOf(
      SupervisorError,
    );
  });
});
