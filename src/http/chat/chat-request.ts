import { z } from 'zod';
import { badRequest, type HttpError } from '../errors.ts';
import { isEchoable } from './session-id.ts';

/** Largest token limit that a request may name: AURA's clients hold 32 bits without a sign. */
const TOKENS_MAX = 4_294_967_295;

const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((v) => v ?? undefined);

/** A string that may come back in an error, so it must be fit for one. */
const echoed = z.string().refine(isEchoable, {
  error: 'must have no control characters and at most 256 bytes',
});

/** Text, or an array of text parts joined by newlines; null and absent are no text. */
const content = z.unknown().transform((value, ctx): string => {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  const refuse = (message: string, ...path: (string | number)[]): string => {
    ctx.issues.push({ code: 'custom', message, path, input: value });
    return '';
  };
  if (!Array.isArray(value)) return refuse('must be a string or an array of text parts');
  const texts = value.map((part: unknown, index) => textOf(part) ?? refuse(partFault(part), index));
  return texts.join('\n');
});

function textOf(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  if (!('type' in part) || part.type !== 'text' || !('text' in part)) return undefined;
  return typeof part.text === 'string' ? part.text : undefined;
}

function partFault(part: unknown): string {
  const type = typeof part === 'object' && part !== null && 'type' in part ? part.type : undefined;
  if (type === 'text') return 'must have its text in the string "text"';
  const name = typeof type === 'string' && isEchoable(type) ? `type "${type}"` : 'this type';
  return `must be a text part, {"type":"text","text":"…"}; parts of ${name} are not supported`;
}

const toolCall = z.object({
  id: z.string(),
  type: optional(z.literal('function')),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const message = z.object({
  role: echoed,
  content,
  tool_calls: optional(z.array(toolCall)),
  tool_call_id: optional(z.string()),
  name: optional(z.string()),
});

const tool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string().min(1, { error: 'must not be empty' }),
    description: optional(z.string()),
    parameters: optional(z.record(z.string(), z.unknown())),
  }),
});

const tokens = optional(
  z.int().min(0, { error: 'must not be negative' }).max(TOKENS_MAX, { error: 'is too large' }),
);

/**
 * The body of a chat completion. Keys it does not name are passed over, as clients send many that
 * mean nothing here (`temperature`, `tool_choice`, `stream_options`).
 */
const body = z.object({
  model: optional(echoed),
  messages: z.array(message),
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
  const parsed = body.safeParse(json, { reportInput: true });
  if (!parsed.success) throw refusalOf(parsed.error.issues[0]);
  if (parsed.data.messages.length === 0) throw badRequest('No messages provided', 'messages');
  return parsed.data;
}

function refusalOf(issue: z.core.$ZodIssue | undefined): HttpError {
  if (issue === undefined) return badRequest('The body is not a chat completion request.');
  const param = pathOf(issue.path);
  if (param === '') return badRequest('The body must be a JSON object with "messages".');
  return badRequest(`\`${param}\` ${faultOf(issue)}.`, param);
}

function faultOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.map((v) => `"${String(v)}"`).join(' or ')}`;
  if (issue.code !== 'invalid_type') return issue.message;
  const expected = EXPECTED[issue.expected] ?? `of type ${issue.expected}`;
  if (issue.input === undefined) return `is missing; it must be ${expected}`;
  return `must be ${expected}, not ${kindOf(issue.input)}`;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a fraction';
  return EXPECTED[typeof value] ?? typeof value;
}

/** `messages[0].content`. */
function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}
