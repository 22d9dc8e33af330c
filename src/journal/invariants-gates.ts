import type { Envelope } from './events.ts';
import {
  type Answered,
  approvalsOf,
  type ApprovalsOfRun,
  type ApprovalView,
  type Asked,
  isByWebhook,
  isDecision,
  isElicitation,
} from './invariants-approval-view.ts';
import {
  type Check,
  type EventOf,
  type Placed,
  perRun,
  type RunView,
  type Violation,
} from './invariants-view.ts';

/**
 * JN-07: a call that is held back starts only after each approval of it ended in `approved`, and with
 * the very arguments that were approved: those that were shown, or those that the approver put in their
 * place. A run that goes on with a parked one is bound by what was asked there.
 */
export const gatedToolsApproved: Check = (entries) => approvalsOf(entries).flatMap(ungated);

function ungated({ run, approvals }: ApprovalsOfRun): Violation[] {
  return run.of('tool_start').flatMap((start) => {
    const all = approvals.filter(({ asked: { event } }) => isGateOf(event, start));
    const gates = all.filter((gate) => gate === all.at(-1) || !isTakenBack(gate));
    const wrong = gates.flatMap((gate) => wrongGate(gate, start) ?? []);
    // A call that is made again after a crash may have been asked for twice; the newest answer counts.
    const unlike = wrong.length === 0 ? wrongArguments(gates.at(-1), start) : undefined;
    return [...wrong, ...(unlike ?? [])].map((what) =>
      run.violation('JN-07', start.seq, `call ${start.event.tool_id} starts ${what}`),
    );
  });
}

/** A webhook's question goes with the run that parks, and the one that it is asked next counts. */
const isTakenBack = ({ asked: { event }, inherited, answers }: ApprovalView): boolean =>
  inherited && isByWebhook(event) && answers.some((one) => one.event.outcome.kind === 'cancelled');

type Start = Placed<EventOf<'tool_start'>>;

const isGateOf = (asked: Asked, { event }: Start): boolean =>
  asked.tool_call_id === event.tool_id && !isElicitation(asked);

function wrongGate({ asked, answers }: ApprovalView, start: Start): string | undefined {
  const { decision_id: id, arguments_digest: digest } = asked.event;
  const answer = answers.find(({ seq }) => seq < start.seq);
  if (answer === undefined) return `without approval ${id}`;
  const { outcome, arguments_digest: shown } = answer.event;
  if (outcome.kind !== 'approved') return `though approval ${id} was ${outcome.kind}`;
  return shown === digest ? undefined : `though approval ${id} was given for other arguments`;
}

function wrongArguments(gate: ApprovalView | undefined, start: Start): string[] | undefined {
  if (gate === undefined) return undefined;
  const { arguments_digest: digest } = start.event;
  // Older versions told no digest with the start.
  if (digest === undefined && gate.asked.event.route === undefined) return undefined;
  const approved = gate.answers.map(({ event }) => (event.edited ?? event).arguments_digest);
  return approved.includes(digest ?? '') ? undefined : ['with arguments that nobody approved'];
}

/**
 * JN-08: nobody decides on an approval that has expired. It compares times, so it does not hold where
 * the machine's clock was set meanwhile: an approval expires when its time has really passed.
 */
export const decidedInTime: Check = (entries) =>
  approvalsOf(entries).flatMap(({ run, approvals }) =>
    approvals.flatMap(({ asked, answers, inherited }) => {
      const expires = Date.parse(asked.event.expires_at ?? '');
      // One that was decided while its run was parked is told when the next run comes to it.
      if (inherited || Number.isNaN(expires)) return [];
      return answers
        .filter(({ at, event }) => isDecision(event) && at > expires)
        .map(({ seq, event: { decision_id: id, outcome } }) =>
          run.violation('JN-08', seq, `${id} is ${outcome.kind} after it expired`),
        );
    }),
  );

/** JN-09: a call that a rule forbids never starts. */
export const forbiddenNeverStart: Check = perRun((run) => {
  const forbidden = new Map(
    run
      .of('tool_complete')
      .flatMap(({ event: { tool_id: id, forbidden_by: rule } }) =>
        rule === undefined ? [] : [[id, rule]],
      ),
  );
  return run
    .of('tool_start')
    .filter(({ event }) => forbidden.has(event.tool_id))
    .map(({ seq, event: { tool_id: id } }) =>
      run.violation('JN-09', seq, `call ${id} starts though ${forbidden.get(id)} forbids it`),
    );
});

/**
 * JN-10: an approval that rests on an earlier one names a decision of the same session that approved
 * the like of it for the session: the same agent, tool and pattern.
 */
export const grantsCover: Check = (entries) => {
  const views = approvalsOf(entries);
  const granted = grantsIn(views);
  return views.flatMap(({ run, approvals }) =>
    approvals.flatMap(({ asked, answers }) =>
      answers.flatMap((answer) => {
        const what = uncovered({ run, asked, answer, granted, entries });
        return what === undefined ? [] : [run.violation('JN-10', answer.seq, what)];
      }),
    ),
  );
};

interface GivenGrant {
  readonly run: RunView;
  readonly asked: Asked;
  readonly seq: number;
}

function grantsIn(views: readonly ApprovalsOfRun[]): ReadonlyMap<string, GivenGrant> {
  const granted = new Map<string, GivenGrant>();
  for (const { run, approvals } of views) {
    for (const { asked, answers } of approvals) {
      for (const { seq, event } of answers) {
        if (event.outcome.kind !== 'approved' || event.grant !== 'session') continue;
        if (!granted.has(event.decision_id)) {
          granted.set(event.decision_id, { run, asked: asked.event, seq });
        }
      }
    }
  }
  return granted;
}

interface Use {
  readonly run: RunView;
  readonly asked: Placed<Asked>;
  readonly answer: Placed<Answered>;
  readonly granted: ReadonlyMap<string, GivenGrant>;
  readonly entries: readonly Envelope[];
}

function uncovered({ run, asked, answer, granted, entries }: Use): string | undefined {
  const { decision_id: id, granted_by: by, outcome } = answer.event;
  if (by === undefined) return undefined;
  if (outcome.kind !== 'approved') return `${id} rests on ${by} and is ${outcome.kind}`;
  const grant = granted.get(by);
  // The decision may be older than what the journal still has.
  if (grant === undefined && entries[0]?.seq !== 1) return undefined;
  if (grant === undefined || grant.seq >= answer.seq) {
    return `${id} rests on ${by}, which approved nothing for the session before`;
  }
  return isAlike(grant, { run, asked: asked.event })
    ? undefined
    : `${id} rests on ${by}, which approved something else`;
}

function isAlike(
  grant: GivenGrant,
  use: { readonly run: RunView; readonly asked: Asked },
): boolean {
  return (
    agentOf(grant.run) === agentOf(use.run) &&
    grant.asked.tool_name === use.asked.tool_name &&
    patternOf(grant.asked) === patternOf(use.asked) &&
    patternOf(use.asked) !== undefined
  );
}

const agentOf = (run: RunView): string | undefined => run.of('queued', 'started')[0]?.event.agent;

const patternOf = ({ origin }: Asked): string | undefined =>
  origin.kind === 'config_gate' ? origin.matched_pattern : undefined;
