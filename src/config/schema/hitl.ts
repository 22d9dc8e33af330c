import * as z from 'zod';
import type { HitlConfig } from '../config.ts';
import { DEFAULTS } from '../defaults.ts';
import { ZERO_SAYS } from '../ranges.ts';
import { seconds } from '../values.ts';
import {
  field,
  glob,
  isEmptyList,
  notYetUnless,
  refuseNotYet,
  switchedOff,
  table,
} from './fields.ts';

const MS_PER_SECOND = 1_000;

const conversational = table({
  mode: z.literal('conversational'),
  timeout_secs: field(seconds(ZERO_SAYS.approvalMs)).optional(),
}).transform(({ mode, timeout_secs = DEFAULTS.approvalSecs * MS_PER_SECOND }) => ({
  mode,
  timeoutMs: timeout_secs,
}));

const webhook = z
  .looseObject({ mode: z.literal('webhook') })
  .transform((_, ctx): HitlConfig['route'] => {
    refuseNotYet(ctx, 'Use mode = "conversational".', ['mode']);
    return z.NEVER;
  });

const isZero = (value: unknown): boolean => {
  const reading = seconds('none')(value);
  return reading.ok && reading.value === 0;
};

/** `[hitl]`; that it is there switches approvals on. */
export const hitlSchema = table({
  require_approval: z.array(glob).optional(),
  route: z.discriminatedUnion('mode', [conversational, webhook]),
  rules: notYetUnless(isEmptyList, 'List the tools in require_approval.'),
  allow_session_grants: switchedOff('Leave it out or set it to false.'),
  allow_argument_edits: switchedOff('Leave it out or set it to false.'),
  reminder_secs: notYetUnless(isZero, 'Leave it out or set it to 0.'),
}).transform(
  ({ require_approval = [], route }): HitlConfig => ({ requireApproval: require_approval, route }),
);
