import { z } from 'zod';
import { isTooDeep, JSON_DEPTH_MAX } from '../../json-depth.ts';
import { isEchoable } from '../echo.ts';
import { badRequest } from '../errors.ts';
import { optional, parseBody } from '../params.ts';

/** Largest token limit that a request may name: AURA's clients hold 32 bits without a sign. */
const TOKENS_MAX = 4_294_967_295;

/** A string that may come back in an error, so it must be fit for one. */
const echoed = z.string().refine(isEchoable, {
  error: 'must have no control characters and at most 256 bytes',
});

/**
 * Text, or an array of text parts joined by newlines; null and absent are no text. It is `optional`
 * before it is transformed, because a transform alone takes an absent key for a fault.
 */
const content = z
  .unknown()
  .optional()
  .transform((value, ctx): string => {
    if (value === undefined || value === null) return '';
    if (typeof value === 'string') return value;
    const refuse = (message: string, ...path: (string | number)[]): string => {
      ctx.issues.push({ code: 'custom', message, path, input: value });
      return '';
    };
    if (!Array.isArray(value)) return refuse('must be a string or an array of text parts');
    const texts = value.map((part: unknown, at) => textOf(part) ?? refuse(partFault(part), at));
    return texts.join('\n');
  });

/** Each holds its text under its own name. A refusal is what the model said instead of an answer. */
const TEXT_TYPES: ReadonlySet<string> = new Set(['text', 'refusal']);

function textOf(part: unknown): string | undefined {
  const type = typeOf(part);
  const text: unknown = TEXT_TYPES.has(type) ? Reflect.get(Object(part), type) : undefined;
  return typeof text === 'string' ? text : undefined;
}

function partFault(part: unknown): string {
  const type = typeOf(part);
  if (TEXT_TYPES.has(type)) return `must have its text in the string "${type}"`;
  const name = type !== '' && isEchoable(type) ? `type "${type}"` : 'this type';
  return `must be a text part, {"type":"text","text":"…"}; parts of ${name} are not supported`;
}

function typeOf(part: unknown): string {
  const type: unknown = Reflect.get(Object(part), 'type');
  return typeof type === 'string' ? type : '';
}

const toolCall = z.object({
  id: z.string(),
  type: optional(z.literal('function')),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** One message of a conversation, as every start of a run takes it. */
export const bodyMessage = z.object({
  role: echoed,
  content,
  tool_calls: optional(z.array(toolCall)),
  tool_call_id: optional(z.string()),
  name: optional(z.string()),
});

/** The only part of a body that may have any shape, and it is written again for the provider. */
const schemaOfArguments = z.record(z.string(), z.unknown()).refine((schema) => !isTooDeep(schema), {
  error: `nests deeper than ${JSON_DEPTH_MAX} levels; send a flatter schema`,
});

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string(),
    description: optional(z.string()),
    parameters: optional(schemaOfArguments),
  }),
});

const tokens = optional(
  z
    .number()
    .refine((value) => Number.isInteger(value), { error: 'must be a whole number, not a fraction' })
    .refine((value) => value >= 0, { error: 'must not be negative' })
    .refine((value) => value <= TOKENS_MAX, { error: 'is too large' }),
);

/**
 * The body of a chat completion. Keys it does not name are passed over, as clients send many that
 * mean nothing here (`temperature`, `tool_choice`, `stream_options`).
 */
const body = z.object({
  model: optional(echoed),
  messages: z.array(bodyMessage),
  stream: optional(z.boolean()),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  metadata: optional(z.record(z.string(), z.string())),
  user: optional(z.string()),
  tools: optional(z.array(tool)),
});

export type ChatBody = z.output<typeof body>;
export type BodyMessage = ChatBody['messages'][number];

/**
 * Reads the parsed JSON of a request.
 *
 * @throws {HttpError} 400 that names the first field at fault.
 */
export function parseChatBody(json: unknown): ChatBody {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw badRequest('The body must be a JSON object with "messages".');
  }
  const chat = parseBody(body, json);
  if (chat.messages.length === 0) throw badRequest('No messages provided', 'messages');
  return chat;
}
