import { describe, expect, it } from 'vitest';
import { answer, STORIES, type StoryName, withdrawn } from './approval-samples.ts';
import { after, both, type Break, change, found, moved, without } from './journal-breaks.ts';
import { complete, finished, of, type RunStep } from './journal-samples.ts';

const signed = (step: RunStep): RunStep =>
  step.event.type === 'approval_completed'
    ? { ...step, event: { ...step.event, signed: true } }
    : step;

type Case = readonly [string, StoryName, Break, readonly string[]];

describe('journal invariants: a person who is left with a question', () => {
  it.each<Case>([
    ...(['webhookTimedOut', 'webhookErrored', 'webhookCancelled', 'elicitedInVain'] as const).map(
      (name) => {
        const at = STORIES[name].findIndex(({ event }) => event.type === 'approval_completed') + 1;
        const message = `${at} d is over, and who was asked is not told`;
        return [
          `no notice where one is ${name}`,
          name,
          without('approval_withdrawn'),
          [message],
        ] as const;
      },
    ),
    [
      'no notice by the run that parks',
      'parkedWebhook',
      without('approval_withdrawn'),
      ['4 d is over, and who was asked is not told'],
    ],
    [
      'a notice after the end of the run',
      'webhookTimedOut',
      (steps) => [...without('approval_withdrawn')(steps), of('a', withdrawn()) as RunStep],
      [
        '4 d is over, and who was asked is not told',
        '7 approval_withdrawn comes after the run ended at 6',
      ],
    ],
    [
      'a second notice',
      'webhookTimedOut',
      after('approval_withdrawn', withdrawn()),
      ['6 d is withdrawn twice'],
    ],
    [
      'a notice before the end',
      'webhookTimedOut',
      moved('approval_withdrawn', 'approval_completed'),
      ['4 d is withdrawn before it ends'],
    ],
    [
      'a notice of a decision',
      'webhookApproved',
      after('approval_completed', withdrawn()),
      ['6 d is withdrawn though it was answered'],
    ],
    [
      'no notice of a signed decision, which came by another way than the webhook',
      'webhookApproved',
      (steps) => steps.map(signed),
      ['5 d is over, and who was asked is not told'],
    ],
    [
      'a notice where no webhook was asked',
      'timedOut',
      after('approval_completed', withdrawn()),
      ['6 d is withdrawn, and no webhook was asked'],
    ],
    [
      'a notice of nothing',
      'webhookTimedOut',
      after('approval_withdrawn', withdrawn({ decision_id: 'x' })),
      ['6 x is withdrawn without having been asked for'],
    ],
    [
      'a person who is never told that nobody waits',
      'timedOut',
      without('approval_completed'),
      ['3 d stays open', '5 call t ends as timed_out, and its approval is not there'],
    ],
    [
      'a question of a server that outlives its run',
      'lostWithQuestion',
      both(without('approval_completed'), without('approval_withdrawn')),
      ['4 d stays open'],
    ],
    [
      'a question to a webhook that outlives its run',
      'parkedWebhook',
      (steps) => steps.toSpliced(3, 2),
      ['0 d stays open', '3 d stays open', '9 call t starts without approval d'],
    ],
    [
      'an approval that is open though its call has ended, and that nobody ends',
      'parked',
      (steps) => [
        ...steps.slice(0, 4),
        of('a', complete()) as RunStep,
        ...steps.slice(4, 6),
        of('b', finished) as RunStep,
      ],
      ['0 d stays open'],
    ],
    [
      'an approval that the run which goes on asks for again',
      'parkedWebhook',
      both(
        change('approval_requested', { decision_id: 'd' }),
        change('approval_completed', { decision_id: 'd' }),
      ),
      ['9 d is asked for twice'],
    ],
    [
      'a second answer',
      'approved',
      after('approval_completed', answer('approved')),
      ['8 d is answered a second time'],
    ],
    [
      'a second answer by the run that goes on',
      'parked',
      (steps) => steps.toSpliced(4, 0, of('a', answer('approved')) as RunStep),
      ['9 d is answered a second time'],
    ],
  ])('finds %s', (_, name, broken, violations) => {
    expect(found(broken(STORIES[name]))).toEqual(violations);
  });

  it('takes a notice of a signed decision', () => {
    const steps = STORIES.webhookApproved.map(signed);
    expect(found(after('approval_completed', withdrawn())(steps))).toEqual([]);
  });
});
