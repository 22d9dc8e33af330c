import { quoted, valueAt } from './document.ts';
import { formatPath } from './issue.ts';
import { givenRulesSchema } from './schema/hitl-rules.ts';
import { type Finding, findingsOf, type Shapes } from './zod-issues.ts';

const SHAPES: Shapes = {
  string: { what: 'a string', how: 'Write it in quotes.' },
  array: { what: 'a list', how: 'Write it in brackets: [...].' },
  object: { what: 'an object', how: 'Write its keys in braces: { key: value }.' },
};

/**
 * What is wrong with approval rules that a program gives, by the schema of `[[hitl.rules]]`: sentences
 * that begin with the field, such as `approvalRules[0].when[0].value`. None: they may be used as they are.
 */
export function ruleProblems(name: string, rules: unknown): readonly string[] {
  const { error } = givenRulesSchema.safeParse(rules);
  return (error?.issues ?? [])
    .flatMap((issue) => findingsOf(issue, (path) => valueAt(rules, path), SHAPES))
    .map((finding) => sentences(name, finding, valueAt(rules, finding.path)));
}

function sentences(name: string, finding: Finding, value: unknown): string {
  const { path, problem, suggestion = '', quotable = false } = finding;
  return `${formatPath([name, ...path])} ${problem}${quotable ? quoted(value) : ''}. ${suggestion}`;
}
