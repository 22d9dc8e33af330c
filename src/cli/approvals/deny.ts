import { type OperatorCall, option } from '../operator.ts';
import { decide } from './decide.ts';

/** `runwarden approvals deny APPROVAL`: the tool is not called, and the model is told. */
export function deny(call: OperatorCall): Promise<void> {
  const reason = option(call, 'reason');
  return decide(call, { approved: false, ...(reason === undefined ? {} : { reason }) });
}
