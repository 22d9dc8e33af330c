import { Visitor } from 'oxc-parser';
import { type AnyStateMachine, type AnyStateNode, StateMachine } from 'xstate';
import type { SourceFile } from './architecture-sources.ts';

/** What is wrong with a chart, one sentence each; the rules are those of the style guide. */
export function brokenRules(machine: AnyStateMachine): readonly string[] {
  const nodes = nodesOf(machine.root);
  return [
    ...(!Number.isFinite(machine.options.maxIterations)
      ? [`${machine.id} has no maxIterations, so a loop of always-transitions hangs the process`]
      : []),
    ...Object.entries(machine.implementations.actions).flatMap(([name, action]) =>
      isBuiltIn(action) ? [] : [`${machine.id} implements the action "${name}" as a function`],
    ),
    ...nodes.flatMap((node) => [
      ...functionActions(node),
      ...badDescriptors(node),
      ...badInvokes(node),
    ]),
  ];
}

/** The machines among the exports of a module. */
export function machinesOf(module: object): readonly AnyStateMachine[] {
  return Object.values(module).filter((value) => value instanceof StateMachine);
}

function nodesOf(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesOf(child))];
}

/** XState's own actions say how they resolve; a plain function does not. */
const isBuiltIn = (action: unknown): boolean => typeof action !== 'function' || 'resolve' in action;

function functionActions(node: AnyStateNode): readonly string[] {
  const transitions = [...node.transitions.values()].flat();
  const actions: readonly unknown[] = [
    ...node.entry,
    ...node.exit,
    ...transitions.flatMap((transition) => transition.actions),
    ...(node.always ?? []).flatMap((transition) => transition.actions),
  ];
  return actions.every(isBuiltIn) ? [] : [`${node.id} acts by a function instead of a port`];
}

/** Events that XState itself sends; a chart may hear of its children by them. */
const CHILD_EVENTS = /^xstate\.(?:done|error|after|snapshot|route)\./;

function badDescriptors(node: AnyStateNode): readonly string[] {
  return Object.keys(node.config.on ?? {}).flatMap((descriptor) => {
    if (descriptor === '*') return [`${node.id} hears "*", which hides the crash of a child`];
    return descriptor.startsWith('xstate.') && !CHILD_EVENTS.test(descriptor)
      ? [`${node.id} hears "${descriptor}", a name that is XState's own`]
      : [];
  });
}

function badInvokes(node: AnyStateNode): readonly string[] {
  const invokes = asList(node.config.invoke);
  if (node.type === 'final' && invokes.length > 0) return [`${node.id} is final and invokes`];
  return invokes.flatMap((invoke) => {
    const where = `${node.id} invokes ${nameOf(invoke.src)}`;
    if (invoke.id === undefined) return [`${where} without an id`];
    return [
      ...(hears(node, `xstate.error.actor.${invoke.id}`) ? [] : [`${where} without onError`]),
      ...(!endsByItself(node.machine, invoke.src) || hears(node, `xstate.done.actor.${invoke.id}`)
        ? []
        : [`${where}, which ends by itself, without onDone`]),
    ];
  });
}

/** Whether the state or one around it has a transition for `type`. */
function hears(node: AnyStateNode, type: string): boolean {
  const matches = (descriptor: string) =>
    descriptor === type || (descriptor.endsWith('.*') && type.startsWith(descriptor.slice(0, -1)));
  if ([...node.transitions.keys()].some(matches)) return true;
  return node.parent !== undefined && hears(node.parent, type);
}

/** A promise always ends, a chart does when it has a final state; a callback never does. */
function endsByItself(machine: AnyStateMachine, src: unknown): boolean {
  const logic: unknown = typeof src === 'string' ? machine.implementations.actors[src] : src;
  if (logic instanceof StateMachine) {
    return Object.values(logic.root.states).some((state) => state.type === 'final');
  }
  return resolvesAsPromise(logic);
}

/** XState marks its logics nowhere, but a promise's is the one that ends when it is told so. */
function resolvesAsPromise(logic: unknown): boolean {
  const { transition } = (logic ?? {}) as { transition?: (...given: unknown[]) => unknown };
  try {
    const resolved = { type: 'xstate.promise.resolve', data: null };
    const next = transition?.({ status: 'active' }, resolved, { self: {} });
    return (next as { status?: string } | undefined)?.status === 'done';
  } catch {
    return false;
  }
}

const nameOf = (src: unknown): string => (typeof src === 'string' ? `"${src}"` : 'a logic');

const asList = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value as T];

const BANNED_IMPORTS = new Set(['sendParent', 'forwardTo', 'log']);

/** Faults that only the text shows. */
export function brokenText(file: SourceFile): readonly string[] {
  const found = file.imports
    .filter((ref) => ref.target === 'xstate')
    .flatMap((ref) =>
      ref.names
        .filter((name) => BANNED_IMPORTS.has(name))
        .map((name) => `${file.path}:${ref.line} imports ${name}; report by emit instead`),
    );
  new Visitor({
    CallExpression: ({ start, callee, arguments: [first] }) => {
      if (callee.type !== 'Identifier' || callee.name !== 'enqueue') return;
      if (first?.type !== 'ArrowFunctionExpression' && first?.type !== 'FunctionExpression') return;
      found.push(`${file.at(start)} enqueues a function`);
    },
  }).visit(file.program);
  return found;
}
