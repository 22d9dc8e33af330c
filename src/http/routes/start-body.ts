import { z } from 'zod';
import type { BusyStrategy, LivenessPolicy } from '../../handle.ts';
import { bodyMessage } from '../chat/chat-request.ts';
import { badRequest } from '../errors.ts';
import { optional, parseBody } from '../params.ts';

/** The longest that a timer can be: 2^31 milliseconds, less than a second. */
const DURATION_MS_MAX = 2_147_483_000;

const POLICIES = ['cancel', 'continue', 'park'] as const satisfies readonly LivenessPolicy[];

const STRATEGIES = [
  'reject',
  'enqueue',
  'interrupt',
  'parallel',
] as const satisfies readonly BusyStrategy[];

const duration = optional(
  z
    .number()
    .refine((ms) => Number.isInteger(ms), { error: 'must be whole milliseconds, not a fraction' })
    .refine((ms) => ms >= 0, { error: 'must not be negative' })
    .refine((ms) => ms <= DURATION_MS_MAX, { error: `must be at most ${DURATION_MS_MAX}` }),
);

const body = z.strictObject({
  agent: optional(z.string()),
  prompt: optional(z.string().refine((text) => text.trim() !== '', { error: 'must not be blank' })),
  messages: optional(z.array(bodyMessage)),
  session_id: optional(z.string()),
  timeout_ms: duration,
  liveness: optional(z.strictObject({ policy: optional(z.enum(POLICIES)), grace_ms: duration })),
  on_busy: optional(z.enum(STRATEGIES)),
});

export type StartBody = z.output<typeof body>;

/**
 * Reads the body of a start.
 *
 * @throws {HttpError} 400 that names the first field at fault; a start has either `prompt` or
 *   `messages`.
 */
export function parseStartBody(json: unknown): StartBody {
  const start = parseBody(body, json);
  const { prompt, messages } = start;
  if (prompt === undefined && messages === undefined) {
    throw badRequest('`prompt` or `messages` is missing; send one of them.', 'prompt');
  }
  if (prompt !== undefined && messages !== undefined) {
    throw badRequest('`prompt` and `messages` are both there; send one of them.', 'messages');
  }
  if (messages?.length === 0)
    throw badRequest('`messages` is empty; send at least one.', 'messages');
  return start;
}
