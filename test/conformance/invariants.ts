/** One rule that holds across charts, ports and stores. Code and tests cite it as `INV-nn`. */
export interface Invariant {
  /** What must hold, in a sentence. */
  readonly says: string;
  /** Why nothing can show it yet. No test may cite it until this is taken away. */
  readonly notYet?: string;
}

/** Every invariant by its number. A number keeps its meaning for ever. */
export const INVARIANTS: Readonly<Record<number, Invariant>> = {
  1: { says: 'A run has one signal, and model, tools and setup all see that one aborted.' },
  2: { says: 'A second stop of any kind changes nothing: one abort, one settling, one end.' },
  3: { says: 'A stop that races with the start of its run is seen by one side or the other.' },
  4: { says: 'A stop is written down before anybody is woken to read it.' },
  5: { says: 'A run that is stopped before its work begins never asks the model.' },
  6: { says: 'A stop is for its own run and never hits the next one.' },
  7: { says: 'A stop is remembered for as long as its run may take to begin.' },
  8: { says: 'A stop inside the process works when the bus to others does not.' },
  9: { says: 'A stop for a run that does not live is accepted and leaves nothing behind.' },
  10: { says: 'A caller who may not stop a run gets an error, and nothing else happens.' },
  11: { says: 'A stop that cannot be stored is refused and signals nobody.' },
  12: { says: 'Readers hear that a run is stopping before it has been wound down.' },
  13: { says: 'Every way to stop a run has the same effect, also when several are used.' },
  14: { says: 'That a run is stopping and that it has ended can be told apart.' },
  15: { says: 'After a stop the model is not listened to, and its request is closed.' },
  16: { says: 'A tool sees the stop at once.' },
  17: { says: 'A tool or model that ignores the stop delays the end by a bound, not by its work.' },
  18: { says: 'After a stop no tool starts.' },
  19: { says: 'After a stop no model request starts.' },
  20: { says: 'A setup that hangs ends its run at the setup deadline, which is named.' },
  21: { says: 'A stop during setup ends the run without the model and stops all of setup.' },
  22: { says: 'Setup counts in the total and not in a step.' },
  23: { says: 'What comes after the end changes nothing of the run.' },
  24: { says: 'A tool is bounded by the least of its own limit, its step and the total.' },
  25: { says: 'A tool without a limit of its own is bounded by its step.' },
  26: { says: 'A limit of a tool beyond its step has no effect.' },
  27: { says: 'The allowance of a step lies on top of its work and does not eat it.' },
  28: {
    says: 'A compaction that overruns is ended by its own clock.',
    notYet: 'There is no compaction.',
  },
  29: { says: 'No timer survives the step, the run or the process that it belongs to.' },
  30: { says: 'Each step has a fresh clock.' },
  31: { says: 'The deadline of a tool ends the call; every other deadline ends the run.' },
  32: { says: 'The cause of an end is on record.' },
  33: { says: 'The first cause wins; later ones are notes.' },
  34: { says: 'A limit that makes no sense is refused before anything starts.' },
  35: { says: 'A run is settled exactly once.' },
  36: { says: 'A stopped run is cancelled although its model ended as if it were complete.' },
  37: { says: 'After the end of a cancelled run no tool call is open.' },
  38: { says: 'After the end of a failed or timed-out run no tool call is open.' },
  39: { says: 'A run that parks for a person leaves that approval open and nothing else.' },
  40: { says: 'Tool calls that had ended stay as they were when their siblings are cancelled.' },
  41: { says: 'Partial text, results and usage are kept when a run is cut off.' },
  42: { says: 'A run cut off before it said anything has a valid record and one end.' },
  43: { says: 'Of stop, failure and answer the first in time decides how the run ended.' },
  44: { says: 'The end is stored before anybody is told of it.' },
  45: { says: 'Of two ends of one run the store takes the first; the loser writes nothing.' },
  46: { says: 'A stored end never becomes another one.' },
  47: { says: 'A stop after the end changes nothing.' },
  48: { says: 'Every step of release runs, whatever failed before it.' },
  49: { says: 'Every step of release is bounded in time.' },
  50: { says: 'Connections go before the beat of the lease, and the beat before the lease.' },
  51: { says: 'A lease is given back by its owner alone.' },
  52: { says: 'After release the next run of the session starts at once.' },
  53: { says: 'An end that cannot be stored is tried again and never pretends to be a success.' },
  54: { says: 'A session has one live run at a time, but for those that asked to be parallel.' },
  55: { says: 'One beat that fails does not cost the lease; its expiry does.' },
  56: { says: 'An owner that lost its lease writes nothing over the next one.' },
  57: { says: 'The runs of a process that died are settled without a person.' },
  58: { says: 'A process that slept through its lease does not make a second writer.' },
  59: { says: 'A reader that leaves does not stop a run that may go on.' },
  60: { says: 'Whenever a reader comes, it sees the same entries in the same order.' },
  61: { says: 'A reader that comes after the end is told of the end.' },
  62: { says: 'A stop ends the streams of all readers with an entry that says so.' },
};

/**
 * What the text that the invariants come from leaves open or gets wrong, each by its number, and what
 * holds here instead. Tests cite it as `H-n`.
 */
export const HOLES: Readonly<Record<number, Invariant>> = {
  1: { says: 'A stop is kept under the id of its run, and no start of another one takes it away.' },
  2: { says: 'A stop holds for as long as its run may wait to begin.' },
  3: { says: 'A stop that was stored is found again by whoever has the run next.' },
  4: { says: 'Who asks again while a run is stopping waits for its end, or is told of it.' },
  5: { says: 'The total bounds setup as well.' },
  6: { says: 'Calls are closed at every end but a parking, not only when somebody interrupts.' },
  7: { says: 'An end for want of time is never told as one that a person asked for.' },
  8: { says: 'A failure that came before a stop stays a failure.' },
  9: { says: 'A tool that ignored its stop is told as one whose effect is not known.' },
  10: { says: 'A stop of a run reaches the runs that it began.', notYet: 'No run begins another.' },
  11: { says: 'A shutdown is a cause of its own, and bounded.' },
  12: { says: 'A stop while a person is asked withdraws the question.' },
  13: { says: 'A connection that several runs use outlives the end of one of them.' },
  14: { says: 'A run that lets go takes only itself from the books.' },
};
