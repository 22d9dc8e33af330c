import { z } from 'zod';
import { isTooDeep } from '../json-depth.ts';
import { type Field, FieldSchema, fits, isAnswerable, wanted } from './elicitation-fields.ts';

/** What one question may ask for; a form with more is no form for a person. */
const FIELDS_MAX = 100;
const NAME_CHARS_MAX = 128;

/** A schema is kept with the approval and sent to whoever is asked. UTF-8 bytes as JSON. */
const SCHEMA_BYTES_MAX = 65_536;

/** An answer is kept in the journal. UTF-8 bytes as JSON. */
const CONTENT_BYTES_MAX = 65_536;

/** What a server wrote is repeated in a problem no further than this. */
const PROBLEM_CHARS_MAX = 500;

/** How many properties a problem names. */
const NAMES_SHOWN_MAX = 20;

const QuestionSchema = z.strictObject({
  $schema: z.string().optional(),
  type: z.literal('object'),
  title: z.string().optional(),
  description: z.string().optional(),
  properties: z.record(z.string(), FieldSchema),
  required: z.array(z.string()).optional(),
  additionalProperties: z.boolean().optional(),
});

type Question = z.infer<typeof QuestionSchema>;

/**
 * What is wrong with the schema of a question, as a sentence for the server's author, or undefined. A
 * question asks for an object of texts, numbers, booleans and choices, with no references and no
 * keyword that {@link checkContent} could not hold the answer to.
 */
export function checkSchema(schema: unknown): string | undefined {
  const read = readSchema(schema);
  return typeof read === 'string' ? read : undefined;
}

/**
 * What is wrong with the answer to a question, as a sentence that names the property and says what
 * would be right, or undefined. No content at all is an answer without properties.
 */
export function checkContent(schema: unknown, content: unknown): string | undefined {
  const question = readSchema(schema);
  if (typeof question === 'string') return question;
  const answer = content ?? {};
  if (!isRecord(answer)) return `The content must be an object with ${namesOf(question)}.`;
  const stranger = Object.keys(answer).find((name) => fieldOf(question, name) === undefined);
  if (stranger !== undefined) {
    return `${quoted(stranger)} is not asked for; the content may have ${namesOf(question)}.`;
  }
  for (const [name, field] of Object.entries(question.properties)) {
    const problem = checkField({ name, field, question, answer });
    if (problem !== undefined) return problem;
  }
  // Only now is it known to be shallow.
  if (bytesOf(answer) <= CONTENT_BYTES_MAX) return undefined;
  return `The content is over ${CONTENT_BYTES_MAX} bytes; give a shorter one.`;
}

interface FieldCheck {
  readonly name: string;
  readonly field: Field;
  readonly question: Question;
  readonly answer: Readonly<Record<string, unknown>>;
}

function checkField({ name, field, question, answer }: FieldCheck): string | undefined {
  if (!Object.hasOwn(answer, name)) {
    const isRequired = question.required?.includes(name) === true;
    return isRequired ? `${quoted(name)} is missing; it must be ${wanted(field)}.` : undefined;
  }
  return fits(field, answer[name]) ? undefined : `${quoted(name)} must be ${wanted(field)}.`;
}

/** The schema as it may be asked with, or what is wrong with it. */
function readSchema(schema: unknown): Question | string {
  const problem = refuseSize(schema);
  if (problem !== undefined) return problem;
  const read = QuestionSchema.safeParse(schema, { error: told });
  if (!read.success) return describe(read.error);
  return refuseUnanswerable(read.data) ?? read.data;
}

/** Before anything walks it. Names are checked here because a parser passes the odd ones over. */
function refuseSize(schema: unknown): string | undefined {
  if (!isRecord(schema)) return 'The schema must be an object.';
  if (isTooDeep(schema) || bytesOf(schema) > SCHEMA_BYTES_MAX) {
    return `The schema is over ${SCHEMA_BYTES_MAX} bytes or nests too deeply; ask for less.`;
  }
  const { properties } = schema;
  const names = isRecord(properties) ? Object.keys(properties) : [];
  if (names.length > FIELDS_MAX)
    return `The schema has over ${FIELDS_MAX} properties; ask for less.`;
  const odd = names.find((name) => !isName(name));
  if (odd === undefined) return undefined;
  return `${quoted(odd)} cannot be the name of a property; give it another of 1 to ${NAME_CHARS_MAX} characters.`;
}

const isName = (name: string): boolean =>
  name !== '' && name.length <= NAME_CHARS_MAX && name !== '__proto__';

/** A question that no content answers would only waste a person's time. */
function refuseUnanswerable(question: Question): string | undefined {
  const missing = question.required?.find((name) => fieldOf(question, name) === undefined);
  if (missing !== undefined) {
    return `\`required\` names ${quoted(missing)}, which is not among the properties.`;
  }
  const fields = Object.entries(question.properties);
  const [name] = fields.find(([, field]) => !isAnswerable(field)) ?? [];
  return name === undefined
    ? undefined
    : `No value is within the bounds of \`properties.${name}\`; widen them.`;
}

const fieldOf = ({ properties }: Question, name: string): Field | undefined =>
  Object.hasOwn(properties, name) ? properties[name] : undefined;

const SUPPORTED =
  'must be "string", "number", "integer", "boolean" or an "array" of choices; nothing else can be asked for';

/** The parser's complaint in words that help; undefined leaves the parser its own. */
function told(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') {
    return `has keywords that are not supported: ${issue.keys.map(quoted).join(', ')}`;
  }
  if (issue.code !== 'invalid_union') return undefined;
  return issue.path?.at(-1) === 'items'
    ? 'must list its choices by `enum`, or by `anyOf` with `const` and `title`'
    : SUPPORTED;
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  const path = (issue?.path ?? []).map(String).join('.');
  const where = path === '' ? 'The schema' : `\`${path}\``;
  const sentence = `${where}: ${issue?.message ?? 'not valid'}.`;
  return sentence.length <= PROBLEM_CHARS_MAX
    ? sentence
    : `${sentence.slice(0, PROBLEM_CHARS_MAX)}…`;
}

function namesOf({ properties }: Question): string {
  const names = Object.keys(properties);
  if (names.length === 0) return 'no properties';
  const shown = names.slice(0, NAMES_SHOWN_MAX).map(quoted).join(', ');
  return names.length > NAMES_SHOWN_MAX ? `${shown}, …` : shown;
}

const quoted = (name: string): string =>
  JSON.stringify(name.length <= NAME_CHARS_MAX ? name : `${name.slice(0, NAME_CHARS_MAX)}…`);

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
