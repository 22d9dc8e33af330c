import type { OperatorCall } from '../operator.ts';
import { decide } from './decide.ts';

/** `runwarden approvals deny APPROVAL`: the tool is not called, and the model is told. */
export const deny = (call: OperatorCall): Promise<void> => decide(call, { approved: false });
