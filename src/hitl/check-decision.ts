import type { ApprovalOrigin, Decision } from '../../machines/vocabulary.ts';
import { DecisionRefusedError } from '../errors.ts';
import { type ArgumentsSchema, editMisfit, type EditMisfit, withoutEmptyEdit } from './edits.ts';
import { checkContent } from './elicitation.ts';
import type { Verdict } from './gate.ts';
import type { ApprovalPolicy } from './policy.ts';

/** What a decision is about. */
export interface DecisionSubject {
  readonly origin: ApprovalOrigin;
  readonly policy: Pick<ApprovalPolicy, 'allowsEdits' | 'allowsGrants'>;
  /** What the rules say of the call with these arguments, as its execution asks them. */
  readonly gate: (args: Readonly<Record<string, unknown>>) => Verdict;
  /** Of the arguments that were asked for. */
  readonly argumentsDigest: string;
  /** Absent where the tool is not at hand: then the call finds out when it runs. */
  readonly expected?: ArgumentsSchema;
}

/**
 * The decision as it is taken, or what the approval does not allow of it. It is asked before the
 * decision reaches the approval, which a refused one leaves as it is. An edit that changes nothing is
 * not on record as one.
 */
export function checkDecision<Given extends Decision>(
  subject: DecisionSubject,
  given: Given,
): Given | DecisionRefusedError {
  const isEditable = given.approved && subject.origin.kind === 'config_gate';
  const decision = isEditable ? withoutEmptyEdit(given, subject.argumentsDigest) : given;
  return (
    editProblem(subject, decision) ??
    grantProblem(subject, decision) ??
    contentProblem(subject, decision) ??
    decision
  );
}

function editProblem(
  { policy, origin, gate, expected }: DecisionSubject,
  { approved, arguments: edited }: Decision,
): DecisionRefusedError | undefined {
  if (edited === undefined) return undefined;
  const refuse = (code: string, message: string) =>
    new DecisionRefusedError(code, message, 'arguments');
  if (!approved) return refuse('edits_not_allowed', 'A denial has no arguments; leave them out.');
  if (origin.kind !== 'config_gate' || !policy.allowsEdits) {
    return refuse('edits_not_allowed', EDITS[origin.kind]);
  }
  const misfit = editMisfit(edited, expected);
  if (misfit !== undefined) return unfit(misfit);
  const verdict = gate(edited);
  if (verdict.effect !== 'deny') return undefined;
  const message = `The rule for "${verdict.matchedPattern}" forbids the call with these arguments.`;
  return refuse('arguments_forbidden', message);
}

const unfit = ({ field, message }: EditMisfit): DecisionRefusedError =>
  new DecisionRefusedError('invalid_arguments', `${message} ${REMEDY}`, field);

const REMEDY =
  'Give arguments that the tool takes, or leave them out to approve the call as it was asked for.';

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
