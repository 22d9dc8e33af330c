import { getShortestPaths } from '@xstate/graph';
import { describe, expect, it } from 'vitest';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  getNextTransitions,
} from 'xstate';
import { claimsMachine } from '../../machines/claims.machine.ts';
import { shutdownMachine } from '../../machines/shutdown.machine.ts';
import { edgesOf, type Fields } from '../../src/testing/paths.ts';

/**
 * Our walker decides what "every edge" means, so a second opinion is worth having: the published
 * graph package must find the same states, from the same events, by its own search.
 */

interface Case {
  readonly machine: AnyStateMachine;
  readonly input: unknown;
  readonly payloads: Readonly<Record<string, Readonly<Record<string, Fields>>>>;
}

const cases: readonly Case[] = [
  {
    machine: claimsMachine,
    input: { liveness: { policy: 'cancel', graceMs: 1_000 }, first: null },
    payloads: {
      'claim.attach': { one: { observer: { id: 'a', presence: false } } },
      'claim.detach': { one: { observerId: 'a', because: 'released' } },
    },
  },
  {
    machine: shutdownMachine,
    input: { graceMs: 1_000, drainMs: 1_000, abortMs: 400, flushMs: 1_000 },
    payloads: {
      'shutdown.load': { idle: { inFlight: 0 }, busy: { inFlight: 1 } },
      'shutdown.signal': { term: { signal: 'SIGTERM' } },
    },
  },
];

describe('the walker and the published graph package', () => {
  it.each(cases)('find the same states of $machine.id', ({ machine, input, payloads }) => {
    const theirs = getShortestPaths(machine, {
      input,
      events: (snapshot: AnyMachineSnapshot) => eventsOf(snapshot, payloads),
      serializeState: keyOf,
      limit: 1_000,
    }).map(({ state }) => keyOf(state));
    const ours = edgesOf(machine, {
      input,
      payloads,
      key: ({ context }) => context,
    }).map(({ expected }) => keyOf(expected));
    expect(new Set(theirs).size).toBeGreaterThan(3);
    expect(new Set(ours)).toEqual(new Set(theirs));
  });
});

function eventsOf(snapshot: AnyMachineSnapshot, payloads: Case['payloads']): EventObject[] {
  if (snapshot.status !== 'active') return [];
  const types = new Set(getNextTransitions(snapshot).map(({ eventType }) => eventType));
  return [...types].filter(Boolean).flatMap((type) => {
    const variants = payloads[type];
    return variants ? Object.values(variants).map((fields) => ({ type, ...fields })) : [{ type }];
  });
}

const keyOf = ({ value, context }: { value: unknown; context: unknown }): string =>
  JSON.stringify([value, context]);
