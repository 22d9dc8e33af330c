import type { ApprovalOrigin, Decision } from '../../machines/vocabulary.ts';
import { DecisionRefusedError } from '../errors.ts';
import { checkContent } from './elicitation.ts';
import type { Gate } from './gate.ts';
import type { ApprovalPolicy } from './policy.ts';

/** What a decision is about. */
export interface DecisionSubject {
  readonly toolName: string;
  readonly origin: ApprovalOrigin;
  readonly policy: Pick<ApprovalPolicy, 'allowsEdits' | 'allowsGrants'>;
  readonly gate: Gate;
}

/**
 * What an approval does not allow of a decision; undefined for one that may be taken. It is asked
 * before the decision reaches the approval, which a refused one leaves as it is.
 */
export function checkDecision(
  subject: DecisionSubject,
  decision: Decision,
): DecisionRefusedError | undefined {
  return (
    editProblem(subject, decision) ??
    grantProblem(subject, decision) ??
    contentProblem(subject, decision)
  );
}

function editProblem(
  { policy, origin, gate, toolName }: DecisionSubject,
  { approved, arguments: edited }: Decision,
): DecisionRefusedError | undefined {
  if (edited === undefined) return undefined;
  const refuse = (code: string, message: string) =>
    new DecisionRefusedError(code, message, 'arguments');
  if (!approved) return refuse('edits_not_allowed', 'A denial has no arguments; leave them out.');
  if (origin.kind !== 'config_gate' || !policy.allowsEdits) {
    return refuse('edits_not_allowed', EDITS[origin.kind]);
  }
  const verdict = gate(toolName, edited);
  if (verdict.effect !== 'deny') return undefined;
  const message = `The rule for "${verdict.matchedPattern}" forbids the call with these arguments.`;
  return refuse('arguments_forbidden', message);
}

const EDITS: Readonly<Record<ApprovalOrigin['kind'], string>> = {
  config_gate:
    'The arguments of this call cannot be changed; set [hitl] allow_argument_edits to allow it.',
  agent_requested: 'A request for approval cannot be changed; deny it and say why.',
  elicitation: 'The arguments of a call that runs cannot be changed; answer with content.',
};

function grantProblem(
  { policy, origin }: DecisionSubject,
  { approved, grant, arguments: edited }: Decision,
): DecisionRefusedError | undefined {
  if (grant === undefined) return undefined;
  const refuse = (message: string) =>
    new DecisionRefusedError('grants_not_allowed', message, 'grant');
  if (!approved) return refuse('A denial grants nothing; leave grant out.');
  if (origin.kind !== 'config_gate')
    return refuse('Only a call that a rule holds back can be approved for a session.');
  if (edited !== undefined)
    return refuse('An approval with other arguments is for one call alone.');
  if (policy.allowsGrants) return undefined;
  return refuse('Approvals for a session are off; set [hitl] allow_session_grants to allow them.');
}

function contentProblem(
  { origin }: DecisionSubject,
  { approved, content }: Decision,
): DecisionRefusedError | undefined {
  const refuse = (code: string, message: string) =>
    new DecisionRefusedError(code, message, 'content');
  if (origin.kind !== 'elicitation') {
    return content === undefined
      ? undefined
      : refuse('content_not_allowed', 'Nothing is asked but yes or no; leave content out.');
  }
  if (!approved) {
    return content === undefined
      ? undefined
      : refuse('content_not_allowed', 'A refusal has no content; leave it out.');
  }
  const problem = checkContent(origin.schema, content ?? {});
  return problem === undefined ? undefined : refuse('invalid_content', problem);
}
