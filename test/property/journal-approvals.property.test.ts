import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JournalEvent } from '../../src/journal/events.ts';
import { checkJournal } from '../../src/journal/invariants.ts';
import {
  answer,
  approvedStart,
  ask,
  EXPIRES,
  outcomeOf,
  pending,
  QUESTION,
  reminder,
  withdrawn,
} from '../unit/approval-samples.ts';
import {
  complete,
  finished,
  goingOn,
  journalOf,
  parked,
  refused,
  requested,
  type RunStep,
  start,
  started,
} from '../unit/journal-samples.ts';

/**
 * Hazard: oracles of the whole suite that miss a broken journal hide the faults that they are for.
 * Journals of many calls beside each other, of every route and end, are sound; each loses its soundness
 * by any one change to what it tells of an approval.
 */

type Kind = 'approved' | 'denied' | 'timed_out' | 'cancelled' | 'errored';

interface Plan {
  readonly route: 'conversational' | 'webhook';
  readonly kind: Kind;
  readonly asks: 'gate' | 'question';
  readonly reminders: number;
  readonly edited: boolean;
  /** The run parks while it is asked, and another one goes on with it. */
  readonly parks: boolean;
}

const plan: fc.Arbitrary<Plan> = fc
  .record({
    route: fc.constantFrom('conversational', 'webhook'),
    kind: fc.constantFrom<Kind>('approved', 'denied', 'timed_out', 'cancelled', 'errored'),
    asks: fc.constantFrom('gate', 'gate', 'question'),
    reminders: fc.nat(2),
    edited: fc.boolean(),
    parks: fc.boolean(),
  })
  .map((made) => ({
    ...made,
    // Nothing but a webhook can fail, and a call that is at work does not park.
    kind: made.kind === 'errored' && made.route === 'conversational' ? 'timed_out' : made.kind,
    parks: made.parks && made.asks === 'gate',
  }));

/** What one call tells before its run parks, and after that or all of it where it does not. */
interface Told {
  readonly before: readonly JournalEvent[];
  readonly after: readonly JournalEvent[];
}

function toldOf({ route, kind, asks, reminders, edited, parks }: Plan, n: number): Told {
  const tool_call_id = `t${n}`;
  const ids = { decision_id: `d${n}`, tool_call_id };
  const origin = asks === 'question' ? { origin: QUESTION } : {};
  const asking = [
    ask({ ...ids, ...origin, route }),
    ...(route === 'conversational' ? [pending({ ...ids, ...origin })] : []),
  ];
  const waiting = Array.from({ length: reminders }, (_, i) =>
    reminder({ ...ids, waited_ms: (i + 1) * 10 }),
  );
  const change = edited ? { edited: { arguments: {}, arguments_digest: 'sha256:01' } } : {};
  const content = kind === 'approved' ? { content: {} } : {};
  const answered = [
    answer(kind, {
      ...ids,
      ...(asks === 'question' ? content : kind === 'approved' ? change : {}),
    }),
    ...(route === 'webhook' && kind !== 'approved' && kind !== 'denied' ? [withdrawn(ids)] : []),
  ];
  if (asks === 'question') {
    const begun = [requested(tool_call_id), start(tool_call_id)];
    return {
      before: [],
      after: [...begun, ...asking, ...waiting, ...answered, complete(tool_call_id)],
    };
  }
  const digest = edited ? 'sha256:01' : 'sha256:00';
  const end =
    kind === 'approved'
      ? [approvedStart(digest, tool_call_id), complete(tool_call_id)]
      : [kind === 'errored' ? complete(tool_call_id) : refused(kind, tool_call_id)];
  const call = requested(tool_call_id);
  const rest = [...waiting, ...answered, ...end];
  if (parks && route === 'webhook') return askedAnew([call, ...asking, ...rest], n);
  return parks
    ? { before: [call, ...asking], after: [call, ...rest] }
    : { before: [], after: [call, ...asking, ...rest] };
}

/** The run that parks takes its question to a webhook back, and the next one asks under another id. */
function askedAnew(after: readonly JournalEvent[], n: number): Told {
  const call = requested(`t${n}`);
  const ids = { decision_id: `p${n}`, tool_call_id: `t${n}` };
  const asked = [ask({ ...ids, route: 'webhook' }), answer('cancelled', ids), withdrawn(ids)];
  return { before: [call, ...asked], after };
}

/** A way to mix lists that keeps the order of each: which list the next entry is taken from. */
function mixed(
  lists: readonly (readonly JournalEvent[])[],
  picks: readonly number[],
): JournalEvent[] {
  const left = lists.map((list) => [...list]);
  const events: JournalEvent[] = [];
  for (let at = 0; left.some(({ length }) => length > 0); at += 1) {
    const open = left.filter(({ length }) => length > 0);
    const taken = open[(picks[at % picks.length] ?? 0) % open.length]?.shift();
    if (taken !== undefined) events.push(taken);
  }
  return events;
}

const steps = (run: string, ...events: JournalEvent[]): RunStep[] =>
  events.map((event) => ({ run, event }));

const journal = fc
  .record({
    plans: fc.array(plan, { minLength: 1, maxLength: 4 }),
    picks: fc.array(fc.nat(7), { minLength: 1, maxLength: 40 }),
  })
  .map(({ plans, picks }) => {
    const told = plans.map(toldOf);
    const before = mixed(
      told.map((one) => one.before),
      picks,
    );
    const after = mixed(
      told.map((one) => one.after),
      picks,
    );
    if (before.length === 0) return steps('a', started, ...after, finished);
    return [
      ...steps('a', started, ...before, parked()),
      ...steps('b', goingOn('started', 'a'), ...after, finished),
    ];
  });

const violationsOf = (told: readonly RunStep[]) =>
  checkJournal(journalOf(...told), { ended: true });

type Change = (told: readonly RunStep[], at: number) => readonly RunStep[];

const set =
  (fields: object): Change =>
  (told, at) => {
    const step = told[at] as RunStep;
    return told.with(at, { ...step, event: { ...step.event, ...fields } as JournalEvent });
  };

const remove: Change = (told, at) => told.toSpliced(at, 1);
const repeat: Change = (told, at) => told.toSpliced(at, 0, told[at] as RunStep);
const late: Change = (told, at) => told.with(at, { ...(told[at] as RunStep), at: EXPIRES + 1 });

/** To the end of its run, right before the terminal entry. */
const postpone: Change = (told, at) => {
  const step = told[at] as RunStep;
  const end = told.findLastIndex(({ run }) => run === step.run);
  return told.toSpliced(end, 0, step).toSpliced(at, 1);
};

const unknownId = set({ decision_id: 'x' });
const is = (type: JournalEvent['type']) => (event: JournalEvent) => event.type === type;
const isApproval = ({ type }: JournalEvent) => type.startsWith('approval_');

const isAnswer =
  (...kinds: Kind[]) =>
  (event: JournalEvent) =>
    event.type === 'approval_completed' && kinds.includes(event.outcome.kind as Kind);

interface Mutation {
  readonly name: string;
  /** Which entries it may hit. */
  readonly hits: (event: JournalEvent, told: readonly RunStep[], at: number) => boolean;
  readonly change: Change;
}

const askedOf = (told: readonly RunStep[], decisionId: string): RunStep | undefined =>
  told.find(({ event }) => event.type === 'approval_requested' && event.decision_id === decisionId);

function isOfGate(event: JournalEvent, told: readonly RunStep[]): boolean {
  if (!('decision_id' in event)) return false;
  const asked = askedOf(told, event.decision_id)?.event;
  return asked?.type === 'approval_requested' && asked.origin.kind === 'config_gate';
}

/** An inherited approval may be told after it expired: it was decided before. */
function isOwn(event: JournalEvent, told: readonly RunStep[], at: number): boolean {
  return 'decision_id' in event && askedOf(told, event.decision_id)?.run === told[at]?.run;
}

/** Its run has the answer, too: what a run leaves as it parks may be the last that it tells. */
const isAnsweredThere = (event: JournalEvent, told: readonly RunStep[], at: number): boolean =>
  event.type === 'approval_requested' &&
  told.some(
    ({ run, event: other }) =>
      other.type === 'approval_completed' &&
      other.decision_id === event.decision_id &&
      run === told[at]?.run,
  );

/** The start of a call that needed an approval. */
const isGatedStart = (event: JournalEvent): boolean =>
  event.type === 'tool_start' && event.arguments_digest !== undefined;

const MUTATIONS: readonly Mutation[] = [
  { name: 'a question that is not told', hits: is('approval_requested'), change: remove },
  { name: 'an answer that is not told', hits: is('approval_completed'), change: remove },
  { name: 'a notice that is not told', hits: is('approval_withdrawn'), change: remove },
  { name: 'an entry that is told twice', hits: isApproval, change: repeat },
  { name: 'an entry about another decision', hits: isApproval, change: unknownId },
  {
    name: 'an answer about another call',
    hits: is('approval_completed'),
    change: set({ tool_call_id: 'x' }),
  },
  {
    name: 'an answer about other arguments',
    hits: is('approval_completed'),
    change: set({ arguments_digest: 'x' }),
  },
  { name: 'an answer after its call ended', hits: is('approval_completed'), change: postpone },
  { name: 'a question after its call ended', hits: isAnsweredThere, change: postpone },
  {
    name: 'an approval that had expired',
    hits: (event, told, at) =>
      isAnswer('approved')(event) && isOfGate(event, told) && isOwn(event, told, at),
    change: late,
  },
  {
    name: 'an approval that was none',
    hits: (event, told) => isAnswer('approved')(event) && isOfGate(event, told),
    change: set({ outcome: outcomeOf('denied') }),
  },
  {
    name: 'a denial that was none',
    hits: (event, told) => isAnswer('denied', 'timed_out')(event) && isOfGate(event, told),
    change: set({ outcome: outcomeOf('approved') }),
  },
  {
    name: 'an expiry that is a denial',
    hits: (event, told) => isAnswer('timed_out')(event) && isOfGate(event, told),
    change: set({ outcome: outcomeOf('denied') }),
  },
  {
    name: 'somebody who decided nothing',
    hits: isAnswer('timed_out', 'cancelled', 'errored'),
    change: set({ decided_by: 'key:ops' }),
  },
  {
    name: 'a grant of what is no approval',
    hits: isAnswer('denied', 'timed_out'),
    change: set({ grant: 'session' }),
  },
  {
    name: 'an approval by a grant that nobody gave',
    hits: isAnswer('approved'),
    change: set({ granted_by: 'x' }),
  },
  {
    name: 'other arguments than were approved',
    hits: isGatedStart,
    change: set({ arguments_digest: 'x' }),
  },
  {
    name: 'a start that does not tell its arguments',
    hits: isGatedStart,
    change: set({ arguments_digest: undefined }),
  },
  {
    name: 'a question of a server before the call',
    hits: (event) => event.type === 'tool_start' && !isGatedStart(event),
    change: remove,
  },
];

describe('journals of approvals', () => {
  it('pass the oracles whatever the route, the end and the order', () => {
    fc.assert(
      fc.property(journal, (told) => {
        expect(violationsOf(told)).toEqual([]);
      }),
    );
  });

  it('pass them at every moment', () => {
    fc.assert(
      fc.property(journal, fc.nat(), (told, cut) => {
        expect(checkJournal(journalOf(...told.slice(0, cut % (told.length + 1))))).toEqual([]);
      }),
    );
  });

  it.each(MUTATIONS)('do not pass them with $name', ({ hits, change }) => {
    let broken = 0;
    fc.assert(
      fc.property(journal, fc.nat(), (told, pick) => {
        const places = [...told.entries()]
          .filter(([at, { event }]) => hits(event, told, at))
          .map(([at]) => at);
        const at = places[pick % Math.max(1, places.length)];
        fc.pre(at !== undefined);
        broken += 1;
        expect(violationsOf(change(told, at))).not.toEqual([]);
      }),
      { numRuns: 200 },
    );
    expect(broken).toBeGreaterThan(50);
  });
});
