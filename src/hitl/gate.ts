import { canonicalJson } from '../canonical-json.ts';
import type { ApprovalRule } from './rules.ts';
import { compileGlobs, compileRule, firstMatch } from './rules/rule.ts';

export interface GateOptions {
  /** Before `requireApproval`; the first that matches wins. */
  readonly rules?: readonly ApprovalRule[];
  /** Globs in configuration order; the first that matches is the one reported. */
  readonly requireApproval: readonly string[];
}

/** What becomes of a call. `matchedPattern` is the glob that decided, as it is configured. */
export type Verdict =
  | { readonly effect: 'allow'; readonly matchedPattern?: string }
  | {
      readonly effect: 'approve';
      readonly matchedPattern: string;
      /** The pattern with the conditions of its rule: what tells two rules with one pattern apart. */
      readonly heldBy: string;
    }
  | { readonly effect: 'deny'; readonly matchedPattern: string };

/**
 * Says what becomes of a call of a tool with these arguments, which must be those it is executed
 * with. It has no memory: the same call gets the same verdict.
 */
export type Gate = (toolName: string, args: Readonly<Record<string, unknown>>) => Verdict;

/**
 * Makes the gate that every server tool passes before it runs. The name is the sanitised one, as
 * the model sees it. The rules come first, in their order: the first whose globs match the name and
 * whose conditions all hold for the arguments decides, a `deny` no more than an `allow`. Then come
 * the globs of `requireApproval`. What nothing matches is allowed, and says no pattern.
 *
 * Throws for a glob, a pointer, a comparison or a pattern that configuration would refuse.
 */
export function createGate({ rules = [], requireApproval }: GateOptions): Gate {
  const compiled = rules.map((rule) => ({
    effect: rule.effect,
    match: compileRule(rule),
    conditions: canonicalJson(rule.when ?? []),
  }));
  const globs = compileGlobs(requireApproval);
  return (toolName, args) => {
    for (const { effect, match, conditions } of compiled) {
      const matchedPattern = match(toolName, args);
      if (matchedPattern === undefined) continue;
      if (effect !== 'approve') return { effect, matchedPattern };
      return { effect, matchedPattern, heldBy: `${matchedPattern} when ${conditions}` };
    }
    const matchedPattern = firstMatch(globs, toolName);
    return matchedPattern === undefined
      ? { effect: 'allow' }
      : { effect: 'approve', matchedPattern, heldBy: matchedPattern };
  };
}
