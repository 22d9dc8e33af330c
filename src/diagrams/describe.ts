import type { AnyStateMachine } from 'xstate';
import { askUnknowing, knownWords, UNKNOWN } from './unknown.ts';

/** Actions in words. The timers behind `after` are left out: the transition shows them. */
export function describeActions(actions: readonly unknown[], machine: AnyStateMachine): string[] {
  const named = new Map(Object.entries(machine.implementations.actions).map(([k, v]) => [v, k]));
  const shown = actions.filter((action) => !isTimer(action));
  return shown.map((action) => named.get(action as never) ?? describeNamed(action));
}

/** A guard in words; undefined for none. */
export function describeGuard(guard: unknown): string | undefined {
  if (guard === undefined || guard === null) return undefined;
  if (typeof guard === 'string') return guard;
  if (typeof guard !== 'function') return describeNamedGuard(guard as Call);
  const { name, guards, stateValue } = guard as GuardFunction;
  if (guards !== undefined) return `${name}(${guards.map(describeGuard).join(', ')})`;
  if (stateValue !== undefined) return `in ${JSON.stringify(stateValue)}`;
  return name === '' || name === 'guard' ? '(inline)' : name;
}

/** Alternatives often share a guard and differ in one constant among parameters of the event. */
function describeNamedGuard({ type, params }: Call): string {
  return describeCall({ type, params: resolve(params) });
}

/** What XState hangs on the functions that `and`, `or`, `not` and `stateIn` return. */
interface GuardFunction {
  readonly name: string;
  readonly guards?: readonly unknown[];
  readonly stateValue?: unknown;
}

/** What XState hangs on the functions that `emit`, `sendTo` and their like return. */
interface BuiltinAction {
  readonly type?: string;
  readonly name: string;
  readonly event?: unknown;
  readonly to?: unknown;
  readonly src?: unknown;
  readonly actorRef?: unknown;
  readonly collect?: (args: never) => void;
  readonly id?: unknown;
  readonly sendId?: unknown;
}

/** An action or guard that is called by name, with those of its parameters that are known. */
function describeCall({ type, params }: Call): string {
  const given = typeof params === 'object' && params !== null ? Object.values(params) : [];
  const known = given.flatMap(knownWords);
  return known.length > 0 ? `${type}(${known.join(', ')})` : type;
}

interface Call {
  readonly type: string;
  readonly params?: unknown;
}

function describeBuiltin(action: unknown): string {
  const builtin = action as BuiltinAction;
  const type = knownWords(resolve(builtin.event)).join('');
  switch (builtin.type) {
    case 'xstate.emit':
      return words('emit', type);
    case 'xstate.raise':
      return words('raise', type);
    case 'xstate.sendTo':
      return words('send', type, 'to', nameOf(builtin.to, 'a child'));
    case 'xstate.spawnChild':
      return words('start', nameOf(builtin.src, 'a child'));
    case 'xstate.stopChild':
      return words('stop', nameOf(builtin.actorRef, 'a child'));
    case 'xstate.cancel':
      return words('cancel', nameOf(builtin.sendId, 'a timer'));
    case 'xstate.enqueueActions':
      return describeBlock(builtin.collect);
    default:
      return (builtin.type ?? builtin.name).replace(/^xstate\./, '');
  }
}

/**
 * What a block of actions does when every condition it asks holds and every list it walks has one
 * element. Its assignments are left out.
 */
function describeBlock(collect: BuiltinAction['collect']): string {
  const done: string[] = [];
  const note = (type: string, fields: object) => done.push(describeBuiltin({ type, ...fields }));
  const enqueue = Object.assign((action: unknown) => done.push(describeNamed(action)), {
    assign: () => undefined,
    emit: (event: unknown) => note('xstate.emit', { event }),
    raise: (event: unknown) => note('xstate.raise', { event }),
    sendTo: (to: unknown, event: unknown) => note('xstate.sendTo', { to, event }),
    spawnChild: (src: unknown) => note('xstate.spawnChild', { src }),
    stopChild: (actorRef: unknown) => note('xstate.stopChild', { actorRef }),
    cancel: (sendId: unknown) => note('xstate.cancel', { sendId }),
  });
  if (collect) askUnknowing(collect, { ...UNKNOWNS, enqueue, check: () => true });
  return done.length > 0 ? [...new Set(done)].join(', ') : 'enqueueActions';
}

const UNKNOWNS = { context: UNKNOWN, event: UNKNOWN, self: UNKNOWN, system: UNKNOWN };

/** The value itself, or what a function of context and event gives without knowing them. */
const resolve = (value: unknown): unknown =>
  typeof value === 'function' ? askUnknowing(value as () => unknown, UNKNOWNS, UNKNOWN) : value;

function nameOf(value: unknown, other: string): string {
  const name = resolve(value);
  if (name === '#_parent') return 'the parent';
  return typeof name === 'string' ? name.replace(/\.?…$/, '.*') : other;
}

const words = (...parts: string[]): string => parts.filter((part) => part !== '').join(' ');

const describeNamed = (action: unknown): string => {
  if (typeof action === 'string') return action;
  return typeof action === 'function' ? describeBuiltin(action) : describeCall(action as Call);
};

function isTimer(action: unknown): boolean {
  if (typeof action !== 'function') return false;
  const { type, id, sendId } = action as unknown as BuiltinAction;
  const timer = type === 'xstate.raise' ? id : type === 'xstate.cancel' ? sendId : undefined;
  return typeof timer === 'string' && timer.startsWith('xstate.after.');
}
