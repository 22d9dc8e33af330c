import type { OperatorCall } from '../operator.ts';
import { decide } from './decide.ts';

/** `runwarden approvals approve APPROVAL`: lets the tool call go on. */
export const approve = (call: OperatorCall): Promise<void> => decide(call, { approved: true });
