import type { RunLimits } from '../machines/vocabulary.ts';
import type { ModelProvider } from './model.ts';
import type { ToolSource } from './tool.ts';
import type { AgentSummary, AgentTools } from './handle.ts';
import type { ApprovalPolicy } from './hitl/policy.ts';
import type { Gate } from './hitl/gate.ts';

/** An agent ready to run: its model, its tools, its limits and its gate. */
export interface Agent {
  readonly summary: AgentSummary;
  readonly systemPrompt: string;
  readonly model: ModelProvider;
  readonly tools: ToolSource;
  /** What executes its tools: an MCP server is told of a stop by a notice of its own. */
  readonly executor: 'mcp' | 'local';
  readonly gate: Gate;
  /** How people are asked; absent: nobody is, and what the gate holds back cannot run. */
  readonly approvals?: ApprovalPolicy;
  readonly limits: RunLimits;
  /** Bound of one execution of the tool, in milliseconds; 0 leaves it to the step. */
  readonly toolTimeoutMs: (toolName: string) => number;
  /** Whether a run of it can be parked: it can go on from a checkpoint in another process. */
  readonly canPark: boolean;
  /** Whether a call that had started may be executed again after a crash. */
  readonly isIdempotent: (toolName: string) => boolean;
  /** Whether a tool of the caller may be offered to the model. */
  readonly allowsClientTool: (toolName: string) => boolean;
  /** The tools of its servers, for introspection; a server that failed is absent. */
  readonly listTools: (
    requestHeaders: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<AgentTools>;
}
