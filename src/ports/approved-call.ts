import { argumentsDigest } from '../hitl/digest.ts';
import { editMisfit } from '../hitl/edits.ts';
import type { ToolCall } from '../model.ts';
import { argumentsSchemaOf } from './decision-subject.ts';
import { gateOf } from './gate-of.ts';
import type { ApprovalRecord, RunScope } from './run-scope.ts';
import { parseArguments } from './parse-arguments.ts';

/** What a call is executed with, or why it must not be. */
export type Clearance =
  | {
      readonly ok: true;
      readonly args: Record<string, unknown>;
      /** Of a call that was approved. */
      readonly digest?: string;
      /** The approver changed the arguments. */
      readonly isEdited: boolean;
    }
  | { readonly ok: false; readonly text: string };

/**
 * The last look before a call is executed, whatever its chart has decided: it has the approval that the
 * rules ask for, of these very arguments. It fails closed; what it refuses here is a bug elsewhere, or
 * rules that were changed while the run was parked.
 */
export function clearanceOf(scope: RunScope, call: ToolCall): Clearance {
  const args = parseArguments(call.argumentsText);
  if (args === undefined) return refused('JsonError: the arguments are not a JSON object');
  const record = scope.gateApproval(call.id);
  if (scope.isOwnQuestion(call.name))
    return { ok: true, args, isEdited: false, ...digestOf(record) };
  const edited = editedBy(record);
  const { effect } = gateOf(scope, call.name)(edited ?? args);
  if (effect === 'deny') return refused('tool call blocked: a rule forbids it');
  if (record === undefined) {
    return effect === 'allow' ? { ok: true, args, isEdited: false } : refused(NOT_APPROVED);
  }
  if (record.outcome?.kind !== 'approved') return refused(NOT_APPROVED);
  if (argumentsDigest(args) !== record.request.argumentsDigest) return refused(DIFFERENT);
  if (edited !== undefined) {
    const misfit = editMisfit(edited, argumentsSchemaOf(scope, call.name));
    if (misfit !== undefined) return refused(`${UNFIT}: ${misfit.message}`);
  }
  const used = edited ?? args;
  return { ok: true, args: used, digest: argumentsDigest(used), isEdited: edited !== undefined };
}

const NOT_APPROVED = 'tool call blocked: nobody has approved it';
const DIFFERENT = 'tool call blocked: its arguments are not those that were approved';

/** It was decided while the run was parked, and nobody had the tool at hand. */
const UNFIT = "tool call blocked: the approver's arguments do not fit the tool";

const digestOf = (record: ApprovalRecord | undefined) =>
  record === undefined ? {} : { digest: record.request.argumentsDigest };

/** A copy, so that the tool cannot change what is on record. */
function editedBy(record: ApprovalRecord | undefined): Record<string, unknown> | undefined {
  const edited = record?.outcome?.kind === 'approved' ? record.outcome.arguments : undefined;
  return edited && structuredClone(edited);
}

const refused = (text: string): Clearance => ({ ok: false, text });
