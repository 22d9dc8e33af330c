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

export interface CallStimulus {
  readonly deed: CallDeed;
  readonly call: number;
  /** Which approval of the call a decision is for; the latest unless told. */
  readonly nth?: number;
}

interface WorldStimulus {
  readonly deed: WorldDeed;
  readonly call?: undefined;
  /** Until when time passes, where that is settled before its turn comes. */
  readonly until?: number;
}

export type Stimulus = CallStimulus | WorldStimulus;

/** A decision, whoever it is for. */
export interface Said {
  readonly approved: boolean;
  readonly signed: boolean;
}

const DECISIONS: Readonly<Partial<Record<CallDeed, Said>>> = {
  yes: { approved: true, signed: false },
  no: { approved: false, signed: false },
  'signed yes': { approved: true, signed: true },
  'signed no': { approved: false, signed: true },
};

export const decisionIn = (deed: CallDeed): Said | undefined => DECISIONS[deed];

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

/** Until when time passes, of what is nothing but that; of a world at `now` whose approvals expire then. */
export function momentOf(
  { now, expiry }: { readonly now: number; readonly expiry: number },
  deed: WorldDeed,
): number | undefined {
  switch (deed) {
    case 'remind':
      return (Math.floor(now / TIMES.reminder) + 1) * TIMES.reminder;
    case 'almost':
      return expiry - 1;
    case 'expire':
      return expiry;
    case 'later':
      return now + TIMES.later;
    default:
      return undefined;
  }
}
