import { type Expression, Visitor } from 'oxc-parser';
import type { SourceFile } from './architecture-sources.ts';

/** One finding: where, and what is wrong there. */
type Finding = string;

/** Longest file that somebody still reads from top to bottom. */
const LINES_MAX = 400;

const TIMERS: ReadonlySet<string> = new Set([
  'setTimeout',
  'setInterval',
  'Date.now',
  'performance.now',
  'AbortSignal.timeout',
  'process.hrtime.bigint',
]);

export function tooLong({ path, text }: SourceFile): readonly Finding[] {
  const lines = text.split('\n').length - 1;
  return lines > LINES_MAX ? [`${path} has ${lines} lines; the most is ${LINES_MAX}`] : [];
}

/** Readings of the real time: a chart or an adapter that does so cannot be tested without sleeping. */
export function realTime(file: SourceFile): readonly Finding[] {
  const found: Finding[] = [];
  const note = (start: number, what: string) => found.push(`${file.at(start)} uses ${what}`);
  new Visitor({
    CallExpression: ({ start, callee }) => {
      const name = dotted(callee).replace(/^globalThis\./, '');
      if (TIMERS.has(name)) note(start, name);
    },
    NewExpression: ({ start, callee, arguments: given }) => {
      if (dotted(callee) === 'Date' && given.length === 0) note(start, 'new Date()');
    },
    ImportDeclaration: ({ start, source }) => {
      if (source.value.startsWith('node:timers')) note(start, source.value);
    },
  }).visit(file.program);
  return found;
}

/** `new URL('./x.ts', import.meta.url)` names a file that `dist` does not have. */
export function unshippedUrls(file: SourceFile): readonly Finding[] {
  const found: Finding[] = [];
  const judge = (start: number, first: unknown) => {
    const value = (first as { type?: string; value?: unknown } | undefined)?.value;
    if (typeof value !== 'string' || !/^\.{1,2}\/.*\.ts$/.test(value)) return;
    found.push(`${file.at(start)} names ${value}; take the ending from import.meta.url instead`);
  };
  new Visitor({
    NewExpression: ({ start, callee, arguments: given }) => {
      if (dotted(callee) === 'URL') judge(start, given[0]);
    },
    CallExpression: ({ start, callee, arguments: given }) => {
      if (dotted(callee) === 'import.meta.resolve') judge(start, given[0]);
    },
  }).visit(file.program);
  return found;
}

const WORDS: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/\b(?:TODO|FIXME|XXX|HACK)\b/, 'leaves work for later'],
  [/\bcanceled\b/i, 'is spelled *cancelled* here'],
  [/(?<![\w.])\/(?:home|root|work|Users)\//, 'is a path of one machine'],
  [/\b(?:oxlint|eslint)-disable(?!.* -- \S)/, 'switches a rule off without a reason after `--`'],
  [/@ts-(?:ignore|nocheck)/, 'hides a type error'],
];

export function badWords(file: SourceFile): readonly Finding[] {
  return file.text.split('\n').flatMap((line, index) =>
    WORDS.flatMap(([pattern, why]) => {
      const found = pattern.exec(line)?.[0];
      return found === undefined ? [] : [`${file.path}:${index + 1} "${found}" ${why}`];
    }),
  );
}

/** Hosts that are nobody's, that are mere names, or that the reader is meant to reach. */
const HOSTS =
  /^(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|.*\.(?:test|invalid|example|localhost)|(?:.*\.)?example\.(?:com|org|net)|api\.openai\.com|json-schema\.org)$/;

export function foreignHosts(file: SourceFile): readonly Finding[] {
  return file.text.split('\n').flatMap((line, index) =>
    [...line.matchAll(/\b(?:https?|wss?):\/\/(\[[^\]]+\]|[\w.-]+)/g)]
      .map((match) => (match[1] ?? '').replace(/\.$/, ''))
      .filter((host) => host.includes('.') && !HOSTS.test(host))
      .map((host) => `${file.path}:${index + 1} names the host ${host}`),
  );
}

/** Titles are sentences in the present tense, and no test is left running alone. */
export function badTitles(file: SourceFile): readonly Finding[] {
  const found: Finding[] = [];
  new Visitor({
    CallExpression: ({ start, callee, arguments: given }) => {
      const name = dotted(callee);
      if (!/^(?:it|test|describe)\b/.test(name)) return;
      if (/\.only\b/.test(name)) found.push(`${file.at(start)} runs alone (${name})`);
      const [title] = given;
      const text = title?.type === 'Literal' ? String(title.value) : '';
      if (/\bshould\b/i.test(text)) found.push(`${file.at(start)} says "should"`);
    },
  }).visit(file.program);
  return found;
}

/** `a.b.c` of an expression made of names; an empty string for any other. */
function dotted(node: Expression | { type: 'Super' }): string {
  switch (node.type) {
    case 'Identifier':
      return node.name;
    case 'MetaProperty':
      return `${node.meta.name}.${node.property.name}`;
    case 'MemberExpression':
      return node.property.type === 'Identifier'
        ? `${dotted(node.object)}.${node.property.name}`
        : '';
    case 'CallExpression':
      return dotted(node.callee);
    default:
      return '';
  }
}
