import type { AnyActorLogic, AnyStateMachine, InspectionEvent } from 'xstate';
import { type Coverage, createCoverage } from '../coverage.ts';
import { createPorts, type FirstSnapshots, type Ports } from '../ports.ts';
import type { Coverages } from './contract.ts';

/** A chart with its real children in it and fakes for the others; built once for all its drives. */
export interface Assembly {
  readonly machine: AnyStateMachine;
  readonly inspect: (event: InspectionEvent) => void;
  readonly coverages: Coverages;
  /** Fresh fakes, which are those of the next drive. One drive at a time. */
  nextPorts(): Ports;
}

interface Spec {
  readonly real: readonly string[];
  readonly shows?: FirstSnapshots | undefined;
  readonly coverages?: Coverages | undefined;
}

/** Throws when a child that is to run for real is no chart, or is nobody's child. */
export function assemble(machine: AnyStateMachine, spec: Spec): Assembly {
  const assembler = new Assembler(spec);
  const whole = assembler.provide(machine);
  assembler.assertAllFound();
  return {
    machine: whole,
    inspect: (event) => {
      for (const inspect of assembler.inspectors) inspect(event);
    },
    coverages: assembler.coverages,
    nextPorts: () => assembler.nextPorts(),
  };
}

/** By its parts and not by its class: two copies of XState in one project have two classes. */
export function isChart(logic: AnyActorLogic): logic is AnyStateMachine {
  return 'implementations' in logic && 'root' in logic;
}

class Assembler {
  readonly coverages: Map<string, Coverage>;
  readonly inspectors: ((event: InspectionEvent) => void)[] = [];
  readonly #spec: Spec;
  readonly #found = new Set<string>();
  readonly #fakes = new Map<string, AnyActorLogic>();
  #ports: Ports = createPorts([]);

  constructor(spec: Spec) {
    this.#spec = spec;
    this.coverages = new Map(spec.coverages);
  }

  provide(machine: AnyStateMachine): AnyStateMachine {
    const logics = Object.entries(machine.implementations.actors) as [string, AnyActorLogic][];
    const actors = logics.map(([src, logic]) => [src, this.#logicOf(src, logic)]);
    const provided = machine.provide({ actors: Object.fromEntries(actors) } as never);
    const coverage = this.coverages.get(machine.id) ?? createCoverage(machine);
    this.coverages.set(machine.id, coverage);
    const watched = coverage.watch(provided as AnyStateMachine);
    this.inspectors.push(watched.inspect);
    return watched.machine;
  }

  assertAllFound(): void {
    const unknown = this.#spec.real.filter((src) => !this.#found.has(src));
    if (unknown.length > 0) throw new Error(`No chart here has a child "${unknown.join('", "')}".`);
  }

  nextPorts(): Ports {
    this.#ports = createPorts([...this.#fakes.keys()], this.#spec.shows);
    return this.#ports;
  }

  #logicOf(src: string, logic: AnyActorLogic): AnyActorLogic {
    if (!this.#spec.real.includes(src)) return this.#fakeOf(src);
    if (!isChart(logic)) throw new Error(`The child "${src}" is no chart.`);
    this.#found.add(src);
    return this.provide(logic);
  }

  /** Hands everything to the current drive's fake: building a machine anew for each drive is slow. */
  #fakeOf(src: string): AnyActorLogic {
    const current = () => this.#ports.actors[src] as AnyActorLogic;
    const fake: AnyActorLogic = {
      getInitialSnapshot: (...given) => current().getInitialSnapshot(...given),
      start: (...given) => current().start?.(...given),
      transition: (...given) => current().transition(...given),
      getPersistedSnapshot: (...given) => current().getPersistedSnapshot(...given),
    };
    this.#fakes.set(src, fake);
    return fake;
  }
}
