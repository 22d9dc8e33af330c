import { read } from '../client/read.ts';
import { type Approval, approvalShape } from '../client/shapes.ts';
import { type OperatorCall, printJson } from '../operator.ts';
import { deciderText, jsonText, originText, reasonText } from '../print/approval-text.ts';
import { type Section, sections } from '../print/sections.ts';
import { momentText } from '../print/time.ts';
import { APPROVAL_MISSING, approvalIdOf } from './filters.ts';
import { isSecretSet, SECRET } from './secret.ts';

/** `runwarden approvals show APPROVAL`: what a person has to know to decide, and what was decided. */
export async function showApproval(call: OperatorCall): Promise<void> {
  const path = `/v1/approvals/${approvalIdOf(call)}`;
  const { text, json } = await call.client.get(path, { ifMissing: APPROVAL_MISSING });
  if (call.json) return printJson(call, text);
  const seen = { now: call.io.now(), signs: isSecretSet(call) };
  call.io.out(sections(partsOf(read(approvalShape, json), seen)));
}

interface Seen {
  readonly now: number;
  /** A decision from here would be signed. */
  readonly signs: boolean;
}

function partsOf(approval: Approval, { now, signs }: Seen): readonly Section[] {
  return [
    { title: `Approval ${approval.decision_id}`, rows: headRows(approval, now) },
    { title: 'What is asked', rows: questionRows(approval) },
    { title: 'Decision', rows: decisionRows(approval) },
    { title: 'What may be done now', rows: verbRows(approval, signs) },
  ];
}

function headRows(approval: Approval, now: number): Section['rows'] {
  const { state, requested_at, expires_at, agent, run_id, session_id, parked, route } = approval;
  const waits = state === 'pending';
  return [
    ['state', state],
    [
      'route',
      route === 'webhook' ? 'webhook, which decides it unless a signed decision does' : route,
    ],
    ['asked', momentText(requested_at, now)],
    ...(waits ? [['expires', momentText(expires_at, now)] as const] : []),
    ['agent', agent],
    ['run', `${run_id}${parked && waits ? ', which is parked until it is decided' : ''}`],
    ['session', session_id],
  ];
}

function questionRows(approval: Approval): Section['rows'] {
  const { tool_name, arguments: value, arguments_digest, origin } = approval;
  const schema = origin['schema'];
  return [
    ['tool', tool_name],
    ['arguments', jsonText(value)],
    ['digest', arguments_digest],
    ['why', originText(approval)],
    ...(schema === undefined ? [] : [['answer', `an object of ${jsonText(schema)}`] as const]),
  ];
}

function decisionRows(approval: Approval): Section['rows'] {
  const { state, edited, grant } = approval;
  if (state === 'pending') return [];
  return [
    ['state', state],
    ['by', deciderText(approval)],
    ['reason', reasonText(approval)],
    ...editRows(edited),
    ...(grant ? [['grant', `for the ${grant}`] as const] : []),
  ];
}

/** With what the tool is called instead. */
const editRows = (edited: Approval['edited']): Section['rows'] =>
  edited
    ? [
        ['arguments now', jsonText(edited.arguments)],
        ['digest now', edited.arguments_digest],
      ]
    : [];

function verbRows(approval: Approval, signs: boolean): Section['rows'] {
  const { decision_id, state, may, origin } = approval;
  if (state !== 'pending') return [];
  if (may.decide === 'signed' && !signs) return [['nothing', UNSIGNED]];
  const command = (verb: string): string => `runwarden approvals ${verb} ${decision_id}`;
  const answers = origin.kind === 'elicitation' ? ' --content JSON' : '';
  return [
    ['approve', `${command('approve')}${answers}`],
    ...(may.edit ? [['edit', `${command('approve')} --arguments JSON`] as const] : []),
    ...(may.grant ? [['for the session', `${command('approve')} --for-session`] as const] : []),
    ['deny', command('deny')],
  ];
}

const UNSIGNED = `its webhook decides it; to decide it here by a signed decision, set ${SECRET}`;
