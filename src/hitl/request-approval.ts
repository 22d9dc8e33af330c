import type { ApprovalOutcome } from '../../machines/vocabulary.ts';
import { canonicalJson } from '../canonical-json.ts';
import type { ToolResult, ToolSpec } from '../tool.ts';

/** What the built-in tool is called; a tool of that name from elsewhere takes its place. */
export const REQUEST_APPROVAL = 'request_approval';

/** Where a model may say why it makes a call. It is no argument of the tool. */
const INTENT_KEY = '_aura_reasoning';

/**
 * The built-in tool by which a model asks a person before it does something that no rule holds
 * back. It acts on nothing, so no gate applies to it.
 */
export const REQUEST_APPROVAL_SPEC: ToolSpec = Object.freeze({
  name: REQUEST_APPROVAL,
  description:
    'Asks a person to approve an action before you take it. Use it when an action is risky, cannot ' +
    'be undone or goes beyond what you were asked for. It waits for the answer. Take the action only ' +
    'when the answer says that it is approved.',
  parameters: {
    type: 'object',
    properties: {
      action_description: {
        type: 'string',
        description:
          'What you want to do, so that a person can decide on it: what, where, how much.',
      },
      risk_rationale: {
        type: 'string',
        description: 'Why a person should decide: what may go wrong, and whether it can be undone.',
      },
      context: {
        type: 'object',
        description: 'Further facts that help to decide, such as names, amounts and addresses.',
      },
      [INTENT_KEY]: {
        type: 'string',
        description: 'In one sentence, what you are trying to achieve with this call.',
      },
    },
    required: ['action_description', 'risk_rationale'],
  },
});

/** What a person is asked. */
export interface AgentRequest {
  /** The risk, as the model sees it. */
  readonly reason: string;
  /** What the model is after, where it says so. */
  readonly intent?: string;
  /** The arguments that the person sees and approves: all of them but the intent. */
  readonly shown: Readonly<Record<string, unknown>>;
}

/** A call of the tool that can be asked, or why it cannot, as a sentence for the model. */
export type RequestReading =
  | { readonly ok: true; readonly request: AgentRequest }
  | { readonly ok: false; readonly problem: string };

/** Reads the arguments of a call of {@link REQUEST_APPROVAL}. Changes nothing in them. */
export function readRequest(args: Readonly<Record<string, unknown>>): RequestReading {
  const problem =
    textProblem(args, 'action_description') ??
    textProblem(args, 'risk_rationale') ??
    contextProblem(args['context']);
  if (problem !== undefined) return { ok: false, problem };
  const { [INTENT_KEY]: said, ...shown } = args;
  const intent = isText(said) ? { intent: said } : {};
  // Checked above.
  return { ok: true, request: { reason: args['risk_rationale'] as string, ...intent, shown } };
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '';

function textProblem(args: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = args[key];
  if (isText(value)) return undefined;
  const what = value === undefined ? 'is missing' : 'must be a text that is not empty';
  return `The argument "${key}" of ${REQUEST_APPROVAL} ${what}. Nobody was asked. Call it again with it.`;
}

/** Models send null for what they leave out. */
function contextProblem(context: unknown): string | undefined {
  if (context === undefined || context === null) return undefined;
  if (typeof context === 'object' && !Array.isArray(context)) return undefined;
  return `The argument "context" of ${REQUEST_APPROVAL} must be an object. Nobody was asked. Call it again.`;
}

/**
 * What the model reads as the answer to its request. Only an approval and a denial are results; who
 * was not answered has failed, and must not take silence for a yes.
 */
export function requestResult(outcome: ApprovalOutcome): ToolResult {
  switch (outcome.kind) {
    case 'approved':
      return { isError: false, text: approvedText(outcome.arguments) };
    case 'denied':
      return { isError: false, text: deniedText(outcome.reason) };
    case 'timed_out':
      return failed('timed out before anybody answered. Treat the action as not approved.');
    case 'cancelled':
      return failed('was cancelled. Treat the action as not approved.');
    case 'errored':
      return failed(
        `failed: ${sentence(outcome.message)} You may ask again, or tell the user about it.`,
      );
  }
}

/** Whoever approves may have changed what was asked for. */
const approvedText = (edited: Readonly<Record<string, unknown>> | undefined): string =>
  edited === undefined
    ? 'The request is approved. You may proceed with the action that you described.'
    : `The request is approved with changes. You may proceed with this and nothing else: ${canonicalJson(edited)}`;

/** A reason that ends as a sentence does keeps its end. */
const deniedText = (reason: string | undefined): string =>
  `The request is rejected: ${sentence(reason ?? 'no reason provided')} Do not proceed with the action.`;

const failed = (what: string): ToolResult => ({
  isError: true,
  text: `approval request ${what}`,
});

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
