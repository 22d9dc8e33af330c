import type { LivenessPolicy } from '../../machines/vocabulary.ts';

/** What a world of approvals is made of. */
export interface Setting {
  readonly route: 'conversational' | 'webhook';
  readonly policy: LivenessPolicy;
  /** Gated calls of the one turn. */
  readonly calls: 1 | 2;
  /** What becomes of the notices that nobody waits any more. */
  readonly notices: 'taken' | 'refused' | 'breaks';
}

/** What is done to one call or its approval. */
export type CallDeed =
  /** A decision from the inbox. */
  | 'yes'
  | 'no'
  /** One with the signature of a webhook. */
  | 'signed yes'
  | 'signed no'
  /** The webhook answers the question that it was sent. */
  | 'hook yes'
  | 'hook no'
  /** It could not answer, and may be asked again. */
  | 'hook busy'
  /** It could not answer, and never will. */
  | 'hook broken'
  | 'tool returns';

export type WorldDeed =
  /** Time passes to the next reminder, to a millisecond before the expiry, to the expiry. */
  | 'remind'
  | 'almost'
  | 'expire'
  /** From now on no tool listens to its stop. */
  | 'deafen'
  | 'cancel'
  /** The last claim goes. */
  | 'leave'
  | 'park'
  | 'resume'
  | 'SIGTERM'
  | 'SIGTERM again'
  /** The process dies, or has left, and another one comes. */
  | 'reboot'
  /** The model gives its last answer. */
  | 'answer'
  /** Long enough for every bound. */
  | 'later';

export type Stimulus =
  | { readonly deed: CallDeed; readonly call: number }
  | { readonly deed: WorldDeed; readonly call?: undefined };

export const labelOf = ({ deed, call }: Stimulus): string =>
  call === undefined ? deed : `${deed} #${call}`;

/** What a decision is answered. */
export type Answer = 'recorded' | 'repeated' | 'unknown';

/** All times count from the moment at which the approvals are asked for; milliseconds. */
export const TIMES = {
  expiry: 60_000,
  reminder: 25_000,
  /** A run that is asked to park may take so long. */
  park: 6_000,
  toolGrace: 5_000,
  /** A drain gives a run that parks so long, and a deaf tool. */
  drainGrace: 4_000,
  /** What did not park in a drain has so long left. */
  unparkedGrace: 500,
  /** Between a death and the next process. */
  reboot: 20_000,
  later: 100_000,
} as const;
