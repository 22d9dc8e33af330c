import { compileGlob } from './glob.ts';

export interface GateOptions {
  /** Globs in configuration order; the first that matches is the one reported. */
  readonly requireApproval: readonly string[];
}

/** Why a tool needs a person's approval; undefined when it needs none. */
export type Gate = (toolName: string) => { readonly matchedPattern: string } | undefined;

/**
 * Makes the gate that every server tool passes before it runs. The name is the sanitised one, as
 * the model sees it. Throws {@link GlobSyntaxError} for a pattern that configuration would refuse.
 */
export function createGate({ requireApproval }: GateOptions): Gate {
  const patterns = requireApproval.map((pattern) => ({ pattern, matches: compileGlob(pattern) }));
  return (toolName) => {
    const hit = patterns.find(({ matches }) => matches(toolName));
    return hit && { matchedPattern: hit.pattern };
  };
}
