/**
 * A history as data: what a simulated world is made of, and what happens in it, step by step. All of it
 * is JSON, so that a history which failed can be kept in a file and played again. All times are
 * milliseconds of the simulated clock.
 */

import type { BusyStrategy, LivenessPolicy } from '../../../machines/vocabulary.ts';

/** How one execution of a tool goes; it stands in the arguments of the call. */
export interface ToolPlay {
  /** From its start to its end. */
  readonly ms: number;
  readonly ends: 'ok' | 'fails' | 'rejects' | 'hangs';
  /** How a webhook answers for a person, where one is asked. */
  readonly hook?: 'approve' | 'deny' | 'busy' | 'broken' | 'silent';
}

/**
 * `safe` runs at once; `again` may be executed twice; `danger` waits for a person; `deaf` ignores that it
 * is told to stop; `asking` asks a person while it runs; `theirs` is executed by whoever called.
 */
export type ToolName = 'safe' | 'again' | 'danger' | 'deaf' | 'asking' | 'theirs';

export interface ToolAsked extends ToolPlay {
  readonly tool: ToolName;
}

/** How one exchange with the model ends; `afterMs` is the silence before. */
export type ModelEnd =
  | { readonly end: 'stop' | 'length' | 'content_filter' }
  | { readonly end: 'tools'; readonly tools: readonly ToolAsked[] }
  /** Says nothing more until it is stopped. */
  | { readonly end: 'stall' }
  /** The stream breaks off without an end. */
  | { readonly end: 'cut' }
  | { readonly end: 'error'; readonly retryable: boolean; readonly code: ModelErrorCode };

export type ModelErrorCode = 'provider_error' | 'provider_rate_limited' | 'context_length_exceeded';

/** One exchange: silence, pieces of text a pause apart, an end. */
export interface ModelPlay {
  readonly silenceMs: number;
  readonly deltas: number;
  readonly pauseMs: number;
  /** Characters of each piece; a flood is what a slow reader cannot hold. */
  readonly chars: number;
  readonly ending: ModelEnd;
}

/** What a model does for one run, exchange by exchange; behind the last one it says that it is done. */
export type ModelScript = readonly ModelPlay[];

export interface StartStep {
  readonly do: 'start';
  readonly via: 'runs' | 'stream' | 'whole';
  readonly agent: AgentName;
  readonly session: 'one' | 'two';
  /** Of a headless start; a chat has those of the world. */
  readonly policy: LivenessPolicy;
  readonly graceMs: number;
  readonly onBusy: BusyStrategy;
  readonly timeoutMs?: number;
  readonly script: ModelScript;
  /** How long its tools take to come. `Infinity` is no JSON: 1e9 is as long. */
  readonly setupMs: number;
}

/** `desk` asks people through the inbox, `hooked` through a webhook. */
export type AgentName = 'desk' | 'hooked';

/** `nth` picks among what is there, and wraps around. */
export type SimStep =
  | StartStep
  | { readonly do: 'cancel' | 'park' | 'resume' | 'explain'; readonly nth: number }
  | {
      readonly do: 'attach';
      readonly nth: number;
      readonly to: 'run' | 'session';
      readonly claim: boolean;
    }
  /** Of a reader: it leaves, its machine dies, it takes no bytes, it takes them again, it comes back. */
  | {
      readonly do: 'leave' | 'vanish' | 'stopReading' | 'readOn' | 'reconnect';
      readonly nth: number;
    }
  | {
      readonly do: 'decide';
      readonly nth: number;
      readonly how: DecideHow;
    }
  | { readonly do: 'wait'; readonly ms: number }
  /** The machine's clock is set; what has really passed is nothing. */
  | { readonly do: 'setClock'; readonly byMs: number }
  /** The disk from now on: it takes all, refuses what is written, or takes `ms` for it. */
  | { readonly do: 'disk'; readonly how: 'well' | 'refuses' }
  | { readonly do: 'disk'; readonly how: 'slow'; readonly ms: number }
  /** Somebody else takes the leases of the sessions, as of a process that was silent for too long. */
  | { readonly do: 'usurp' }
  /**
   * The process dies. Of the writes that the disk has not confirmed it keeps the first `keeps`. Another
   * process comes `downMs` later.
   */
  | {
      readonly do: 'crash';
      readonly keeps: number;
      readonly downMs: number;
      readonly recover: 'fail' | 'resume';
      readonly resumeOnStart: boolean;
    }
  /** A signal, or two. Another process comes when this one has left. */
  | { readonly do: 'shutdown'; readonly signals: 1 | 2; readonly resumeOnStart: boolean };

/**
 * Approves or denies; the same twice; both at once; what is over already; with other arguments; for the
 * rest of the session.
 */
export type DecideHow = 'approve' | 'deny' | 'twice' | 'both' | 'late' | 'edit' | 'grant';

/** What holds for a whole history. */
export interface SimSettings {
  /** Of what is random in the product itself: the spread of attempts. */
  readonly seed: number;
  readonly chat: { readonly policy: LivenessPolicy; readonly graceMs: number };
  readonly chatOnBusy: BusyStrategy;
}

export interface SimHistory {
  readonly settings: SimSettings;
  readonly steps: readonly SimStep[];
}
