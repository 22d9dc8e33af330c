import { compileGlob, type GlobMatcher } from '../glob.ts';
import type { ApprovalRule } from '../rules.ts';
import { compileCondition, type Holds } from './condition.ts';

export interface CompiledGlob {
  /** As it is configured. */
  readonly pattern: string;
  readonly matches: GlobMatcher;
}

/** Gives the glob of the rule that matches the tool, when the conditions on its arguments hold too. */
export type CompiledRule = (toolName: string, args: unknown) => string | undefined;

/** Throws for a glob, a pointer, a comparison or a pattern that configuration would refuse. */
export function compileRule({ tools, when = [], effect }: ApprovalRule): CompiledRule {
  const globs = compileGlobs(tools);
  const conditions = when.map((condition): Holds => compileCondition(condition, effect));
  return (toolName, args) => {
    const pattern = firstMatch(globs, toolName);
    if (pattern === undefined) return undefined;
    return conditions.every((holds) => holds(args)) ? pattern : undefined;
  };
}

export const compileGlobs = (patterns: readonly string[]): readonly CompiledGlob[] =>
  patterns.map((pattern) => ({ pattern, matches: compileGlob(pattern) }));

export const firstMatch = (globs: readonly CompiledGlob[], toolName: string): string | undefined =>
  globs.find(({ matches }) => matches(toolName))?.pattern;
