import type { Verdict } from '../hitl/gate.ts';
import type { RunScope } from './run-scope.ts';

type Args = Readonly<Record<string, unknown>>;

/**
 * What the agent's gate says of a tool. A tool that had to give way to another one of its name is held
 * against both names, and the stricter verdict counts: a rule is about the name its author knows.
 */
export function gateOf(scope: RunScope, toolName: string): (args: Args) => Verdict {
  const { gate } = scope.agent;
  const plain = scope.tool(toolName)?.plainName;
  if (plain === undefined) return (args) => gate(toolName, args);
  return (args) => stricter(gate(toolName, args), gate(plain, args));
}

const RANK: Readonly<Record<Verdict['effect'], number>> = { allow: 0, approve: 1, deny: 2 };

const stricter = (one: Verdict, other: Verdict): Verdict =>
  RANK[other.effect] > RANK[one.effect] ? other : one;
