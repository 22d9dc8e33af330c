import type {
  AnyEventObject,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
  InputFrom,
} from 'xstate';
import type { Coverage } from '../coverage.ts';
import type { Fields } from '../paths.ts';
import type { FirstSnapshots, PortCall } from '../ports.ts';

/** A chart that runs for real, or did: its snapshot's `status` says which. */
export interface RunningChart {
  /** The ids from below the outermost chart down to it: `tool.a/approval`; empty for the outermost. */
  readonly path: string;
  /** The machine's `id`, by which keys and coverages are given. */
  readonly id: string;
  readonly snapshot: AnyMachineSnapshot;
}

/** Something that happened, in order. `step` counts the stimuli; 0 is the start. */
export type Happening =
  | { readonly kind: 'sent'; readonly step: number; readonly event: AnyEventObject }
  /** A fake child did something. */
  | {
      readonly kind: 'acted';
      readonly step: number;
      readonly path: string;
      readonly does: ChildAct;
    }
  | {
      readonly kind: 'told';
      readonly step: number;
      readonly path: string;
      readonly fact: AnyEventObject;
    }
  /** `src`: the name under which its chart knows the child, fake or real. */
  | {
      readonly kind: 'started';
      readonly step: number;
      readonly path: string;
      readonly src: string;
    };

/** An `after` of a chart that is still to come; `delayMs` as it was armed. */
export interface CompositionTimer {
  readonly path: string;
  readonly type: string;
  readonly delayMs: number;
}

/** A composition at rest between two stimuli. */
export interface CompositionView {
  /** The outermost chart. */
  readonly parent: AnyMachineSnapshot;
  /** Every chart that was started, oldest first and the outermost among them, the ended ones included. */
  readonly charts: readonly RunningChart[];
  /** Every fake child that was started, oldest first, the ended ones included. */
  readonly fakes: readonly PortCall[];
  readonly timers: readonly CompositionTimer[];
  readonly history: readonly Happening[];
}

/** What a fake child does: it ends, fails, shows a snapshot with these fields, or tells its chart an event. */
export type ChildAct =
  | { readonly done: unknown }
  | { readonly error: unknown }
  | { readonly show: Fields }
  | { readonly tell: EventObject };

/** Several at once are several possibilities; undefined when it cannot happen there. */
type When<Given extends readonly unknown[], What> =
  | What
  | ((...given: Given) => What | readonly What[] | undefined);

/** By event type and then by a name of one's own: the fields of the commands that the outside may send. */
export type Commands = Readonly<
  Record<string, Readonly<Record<string, When<[CompositionView], Fields>>>>
>;

/** By a fake child's name in its chart and then by a name of one's own: what it may do while it runs. */
export type ChildActs = Readonly<
  Record<string, Readonly<Record<string, When<[CompositionView, PortCall], ChildAct>>>>
>;

/** What holds in every state of a composition, and what says that it does not. */
export interface CompositionInvariant {
  /** A sentence, as a violation is to be reported. */
  readonly name: string;
  /** What is wrong, or undefined. Pure: it is asked after every stimulus, also on the way to rest. */
  readonly violation: (view: CompositionView) => string | undefined;
}

export interface CompositionOptions<Machine extends AnyStateMachine> {
  readonly input: InputFrom<Machine>;
  /** The names of the children that run for real, at every depth. They must be charts. */
  readonly real: readonly string[];
  /** A command is sent in the states that handle its type. One that is not listed is never sent. */
  readonly commands: Commands;
  /** A child that is not listed never does anything: it hangs. */
  readonly children: ChildActs;
  readonly invariants: readonly CompositionInvariant[];
  /**
   * The commands after which the outermost chart must end by its own timers, whatever hangs. They
   * are sent wherever the exploration has come to.
   */
  readonly end: readonly EventObject[];
  /**
   * Names of fake children that in earnest end by themselves, as a chart with its own timers does. When no
   * timer is left on the way to rest, the first act that one of them has is played.
   */
  readonly bounded?: readonly string[];
  /**
   * What of a chart's context tells two states apart, by the machine's `id`. State values, armed timers
   * and running fakes always do.
   */
  readonly key?: Readonly<Record<string, (snapshot: AnyMachineSnapshot) => unknown>>;
  /** What else tells two states apart; it does not show in labels. */
  readonly keyOfWhole?: (view: CompositionView) => unknown;
  /** What the table says of a fact; its type when left out. */
  readonly fact?: (fact: AnyEventObject) => string;
  /** What the first snapshot of a fake child has, by the child's name. */
  readonly shows?: FirstSnapshots;
  /** How many states there may be before the key is taken for too fine; 5 000 when left out. */
  readonly limit?: number;
  /** Coverages to add to, by machine `id`: those of an earlier exploration of the same charts. */
  readonly coverages?: Coverages;
}

export type Coverages = ReadonlyMap<string, Coverage>;

/** One thing that can happen in one composite state, and what came of it. */
export interface CompositionEdge {
  /** The labels of the stimuli that lead from the start to the state. */
  readonly path: readonly string[];
  readonly from: string;
  /** `start` for the start itself. */
  readonly on: string;
  readonly to: string;
  /** What the charts told, in order, with the path of the chart that did. */
  readonly facts: readonly string[];
}

export interface Composition {
  /** How many states the key tells apart. */
  readonly states: number;
  /** How many pairs of a state and what can happen in it there are, the start among them. */
  readonly steps: number;
  /** Those steps, and again those that were driven once more for a pair. */
  readonly edges: readonly CompositionEdge[];
  /** Each `first, then second` that is possible anywhere, by labels; every one of them was driven. */
  readonly pairs: readonly string[];
  /** How many histories were driven from the start to rest. */
  readonly drives: number;
  readonly coverages: Coverages;
}
