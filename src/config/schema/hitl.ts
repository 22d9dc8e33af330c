import * as z from 'zod';
import type { HitlConfig } from '../config.ts';
import { DEFAULTS } from '../defaults.ts';
import { APPROVAL_SECONDS_MAX, ZERO_SAYS } from '../ranges.ts';
import { seconds, toggle } from '../values.ts';
import { field, glob, table } from './fields.ts';
import { routeSchema } from './hitl-route.ts';
import { rulesSchema } from './hitl-rules.ts';

const MS_PER_SECOND = 1_000;

const reminder = seconds(ZERO_SAYS.reminderMs, { max: APPROVAL_SECONDS_MAX });

/** `[hitl]`; that it is there switches approvals on. */
export const hitlSchema = table({
  require_approval: z.array(glob).optional(),
  rules: rulesSchema.optional(),
  allow_session_grants: field(toggle).optional(),
  allow_argument_edits: field(toggle).optional(),
  reminder_secs: field(reminder).optional(),
  pause_total: field(toggle).optional(),
  route: routeSchema,
}).transform(
  (toml): HitlConfig => ({
    rules: toml.rules ?? [],
    requireApproval: toml.require_approval ?? [],
    allowSessionGrants: toml.allow_session_grants ?? DEFAULTS.allowSessionGrants,
    allowArgumentEdits: toml.allow_argument_edits ?? DEFAULTS.allowArgumentEdits,
    reminderMs: toml.reminder_secs ?? DEFAULTS.reminderSecs * MS_PER_SECOND,
    pauseTotal: toml.pause_total ?? DEFAULTS.pauseTotal,
    route: toml.route,
  }),
);
