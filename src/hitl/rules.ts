/** One rule of `[[hitl.rules]]` or of `approvalRules`. All of its conditions must hold. */
export interface ApprovalRule {
  /** Globset patterns over sanitised tool names. */
  readonly tools: readonly string[];
  /** Left out: none, so that the rule holds for every call of its tools. */
  readonly when?: readonly RuleCondition[];
  /** `deny`: it never runs. `allow`: nobody is asked. */
  readonly effect: 'approve' | 'deny' | 'allow';
}

/** A condition on the arguments of a call. `pointer` is a JSON pointer (RFC 6901) into them. */
export type RuleCondition =
  | { readonly pointer: string; readonly op: 'eq' | 'ne'; readonly value: JsonScalar }
  | { readonly pointer: string; readonly op: 'in'; readonly value: readonly JsonScalar[] }
  /** `value`: a regular expression that is found anywhere in the text. */
  | { readonly pointer: string; readonly op: 'matches'; readonly value: string }
  | { readonly pointer: string; readonly op: 'gt' | 'lt'; readonly value: number };

export type JsonScalar = string | number | boolean | null;
