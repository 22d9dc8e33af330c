import { describe, expect, it } from 'vitest';
import { initialTransition } from 'xstate';
import { type OrphanInput, orphanMachine } from '../../machines/orphan.machine.ts';
import { describeModel } from './model-suite.ts';

const ORPHAN: OrphanInput = {
  stopRequested: false,
  policy: 'continue',
  recover: 'resume',
  hasCheckpoint: true,
  wasStopping: false,
  waitsForPerson: false,
  recoveries: 0,
  recoveriesMax: 3,
};

const fate = (change: Partial<OrphanInput>): unknown =>
  initialTransition(orphanMachine, { ...ORPHAN, ...change })[0].value;

describe('orphan chart, what becomes of a run whose process is gone', () => {
  it('OR1: cancels a run that had been stopped, whatever else is known of it', () => {
    expect(fate({ stopRequested: true, waitsForPerson: true })).toBe('cancelled');
    expect(fate({ stopRequested: true, policy: 'cancel' })).toBe('cancelled');
  });

  it('OR2: settles a run under cancel, whatever else is known of it', () => {
    expect(fate({ policy: 'cancel', waitsForPerson: true })).toBe('settled');
  });

  it('OR2: settles a run without a checkpoint', () => {
    expect(fate({ hasCheckpoint: false, waitsForPerson: true })).toBe('settled');
  });

  it('OR2: settles a run that was being stopped, also one that waited', () => {
    expect(fate({ wasStopping: true })).toBe('settled');
    expect(fate({ wasStopping: true, waitsForPerson: true })).toBe('settled');
  });

  it.each(['continue', 'park'] as const)('OR3: parks a run under %s that waited', (policy) => {
    expect(fate({ policy, waitsForPerson: true, recover: 'fail', recoveries: 9 })).toBe('parked');
  });

  it.each(['continue', 'park'] as const)(
    'OR4: brings a run under %s back if asked to',
    (policy) => {
      expect(fate({ policy })).toBe('resumed');
      expect(fate({ policy, recover: 'fail' })).toBe('settled');
    },
  );

  it('OR4: settles a run that was lost too often', () => {
    expect(fate({ recoveries: 2 })).toBe('resumed');
    expect(fate({ recoveries: 3 })).toBe('settled');
  });
});

describeModel('orphan', orphanMachine, {
  stopped: { input: { ...ORPHAN, stopRequested: true } },
  'under cancel': { input: { ...ORPHAN, policy: 'cancel' } },
  waiting: { input: { ...ORPHAN, waitsForPerson: true } },
  'to be brought back': { input: ORPHAN },
  'being stopped': { input: { ...ORPHAN, wasStopping: true } },
  'at work': { input: { ...ORPHAN, recover: 'fail' } },
});
