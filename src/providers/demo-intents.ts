/** A tool call that a prompt asks for. */
export interface Intent {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** What the model thinks before it calls, as a sentence. */
  readonly because: string;
}

/** Longer prompts are texts to answer, such as a front end's request for a title of the chat. */
const PROMPT_CHARS_MAX = 400;

/** The slowest demo still ends within the tool's own deadline. */
const COUNT_MAX = 60;

/**
 * The tool calls that a prompt asks for, in the order of the table below; several may be asked
 * for at once. It understands a handful of plain English requests and nothing else.
 */
export function intentsOf(prompt: string): readonly Intent[] {
  if (prompt.length > PROMPT_CHARS_MAX) return [];
  return READERS.flatMap((read) => read(prompt) ?? []);
}

type Reader = (prompt: string) => Intent | undefined;

const readCount: Reader = (prompt) => {
  if (!/\bcount(?:ing)?\b.*\d|\bcount\b.*\bslow|\bslow.*\bcount\b/i.test(prompt)) return undefined;
  const to = Number(/\b(?:to|until|till)\s+(\d+)/i.exec(prompt)?.[1] ?? 5);
  return {
    tool: 'slow_count',
    args: { to: Math.min(Math.max(to, 1), COUNT_MAX) },
    because: 'Counting takes a while, so I leave it to the slow_count tool.',
  };
};

const NUMBER = String.raw`(-?\d+(?:\.\d+)?)`;
const SUMS = [
  new RegExp(
    String.raw`\b(?:add|sum(?:\s+of)?)\s+${NUMBER}\s*(?:and|to|with|plus|\+|,)\s*${NUMBER}`,
    'i',
  ),
  new RegExp(String.raw`${NUMBER}\s*(?:\+|plus)\s*${NUMBER}`, 'i'),
];

const readSum: Reader = (prompt) => {
  const found = SUMS.map((sum) => sum.exec(prompt)).find((match) => match !== null);
  if (found === undefined) return undefined;
  return {
    tool: 'add',
    args: { a: Number(found[1]), b: Number(found[2]) },
    because: 'This is a sum, and the add tool does sums.',
  };
};

const FILE = String.raw`["'\`]?([\w./-]*\w)["'\`]?`;
const DELETE = new RegExp(
  String.raw`\b(?:delete|remove|erase)\s+(?:the\s+|a\s+|my\s+)?(?:file\s+)?(?:named\s+|called\s+)?${FILE}`,
  'i',
);

const readDelete: Reader = (prompt) => {
  const path = DELETE.exec(prompt)?.[1];
  if (path === undefined || path.toLowerCase() === 'file') return undefined;
  return {
    tool: 'delete_file',
    args: { path },
    because: `Deleting ${path} cannot be undone, so a person has to approve it first.`,
  };
};

const WRITE = new RegExp(
  String.raw`\bwrite\s+["'\`]?(.+?)["'\`]?\s+(?:to|into|in)\s+(?:the\s+)?(?:file\s+)?${FILE}`,
  'i',
);

const readWrite: Reader = (prompt) => {
  const [, content, path] = WRITE.exec(prompt) ?? [];
  if (content === undefined || path === undefined) return undefined;
  return { tool: 'write_file', args: { path, content }, because: `I write it to ${path}.` };
};

const readDeploy: Reader = (prompt) => {
  const service = /\bdeploy\s+(?:the\s+)?(?:service\s+)?["'`]?(\w[\w.-]{0,62}\w)/i.exec(
    prompt,
  )?.[1];
  if (service === undefined) return undefined;
  return {
    tool: 'deploy',
    args: { service },
    because: `The deploy tool asks a person why ${service} is deployed.`,
  };
};

const readList: Reader = (prompt) =>
  /\b(?:list|show|which|what)\b.{0,20}\bfiles\b/i.test(prompt)
    ? { tool: 'list_files', args: {}, because: 'I look at what files there are.' }
    : undefined;

const readFailure: Reader = (prompt) =>
  /\bfail(s|ing|ure)?\b|\balways_fails\b/i.test(prompt)
    ? { tool: 'always_fails', args: {}, because: 'You want to see a tool fail; one always does.' }
    : undefined;

const readStubborn: Reader = (prompt) =>
  /\bstubborn\b|\bignores?[ _]cancel/i.test(prompt)
    ? {
        tool: 'ignores_cancel',
        args: {},
        because: 'The ignores_cancel tool goes on even when it is told to stop.',
      }
    : undefined;

const READERS: readonly Reader[] = [
  readCount,
  readSum,
  readWrite,
  readList,
  readDelete,
  readDeploy,
  readFailure,
  readStubborn,
];
