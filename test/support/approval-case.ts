import { expect } from 'vitest';
import { RunStateError } from '../../src/errors.ts';
import { isChecked } from './sound-journals.ts';
import { Expectation } from './approval-expectation.ts';
import { ApprovalPlayer, UNKNOWN_ID } from './approval-player.ts';
import { applyIfAble, mayResume, meantNow, nextToRest } from './approval-sequences.ts';
import {
  type Answer,
  labelOf,
  type Said,
  type Setting,
  type Stimulus,
} from './approval-stimuli.ts';
import { expectAtRest, expectSeen, seenOf } from './approval-verdict.ts';

const STEPS_TO_REST_MAX = 20;

/**
 * One world, played on the running system and in what is expected of it, side by side. Where two
 * things happened at once there are several that may be expected, until what is seen says which.
 */
export class ApprovalCase {
  readonly player: ApprovalPlayer;
  #worlds: readonly Expectation[];
  readonly #played: string[] = [];

  constructor(setting: Setting) {
    this.player = new ApprovalPlayer(setting);
    this.#worlds = [new Expectation(setting)];
  }

  /** Throws where the system does other than expected, with what was played up to there. */
  async play(stimuli: readonly Stimulus[]): Promise<void> {
    await this.begin(stimuli);
    await this.finish(this.#worlds);
  }

  async begin(stimuli: readonly Stimulus[]): Promise<void> {
    await this.player.begin();
    await this.#compare();
    for (const stimulus of stimuli) await this.#step(stimulus);
  }

  /** Brings the system, which stands like one of these, to rest. */
  async finish(worlds: readonly Expectation[]): Promise<void> {
    this.#worlds = worlds;
    await this.#compare();
    await this.#comeTooLate();
    await this.#rest();
    // Two things at once may leave something that has to be tried again.
    if (worlds.length > 1) await this.#step({ deed: 'later' });
    await this.#comeTooLate();
    await this.#agree((world) => expectAtRest(this.player, world));
    isChecked(this.player.host.store);
  }

  async #step(next: Stimulus): Promise<void> {
    this.#played.push(labelOf(next));
    const stimulus = meantNow(this.#first, next);
    const should = new Map(this.#worlds.map((world) => [world, applyIfAble(world, stimulus)]));
    const answer = await this.player.play(stimulus);
    await this.#agree((world) => expect(answer).toBe(should.get(world)));
    await this.#compare();
  }

  async #compare(): Promise<void> {
    const seen = await seenOf(this.player);
    await this.#agree((world) => expectSeen(seen, world, this.player));
  }

  async #rest(): Promise<void> {
    for (let step = 0; ; step += 1) {
      const next = nextToRest(this.#first);
      if (next === undefined) return;
      if (step === STEPS_TO_REST_MAX) throw new Error(`it does not come to rest: ${this.#told}`);
      await this.#step(next);
    }
  }

  /** Everything that must not act any more, or not from there, or not yet. */
  async #comeTooLate(): Promise<void> {
    if (this.#first.process === 'gone') return;
    const { player } = this;
    expect(await player.decide(UNKNOWN_ID, { approved: true, signed: true })).toBe('unknown');
    for (const [at, ids] of player.decisionIds.entries()) {
      for (const nth of ids.keys()) await this.#decideEachWay(at, nth);
    }
    await this.player.answerLate();
    await this.#resumeEarly();
    await this.#compare();
  }

  async #decideEachWay(at: number, nth: number): Promise<void> {
    for (const approved of [true, false]) {
      for (const signed of [true, false]) await this.#decideLate({ at, nth }, { approved, signed });
    }
  }

  async #decideLate(which: Which, said: Said): Promise<void> {
    const answers = this.#worlds.map((world) => answerTo(world, which, said));
    if (answers.includes('recorded')) return;
    const answer = await this.player.decide(this.player.idOf(which.at, which.nth), said);
    await this.#agree((world) => {
      const what = `late ${JSON.stringify(said)} for ${JSON.stringify(which)}`;
      expect(answer, what).toBe(answerTo(world, which, said));
    });
  }

  async #resumeEarly(): Promise<void> {
    const world = this.#first;
    if (world.run !== 'parked' || world.process !== 'up' || mayResume(world)) return;
    const resumed = this.player.play({ deed: 'resume' });
    await expect(resumed, this.#told).rejects.toThrow(RunStateError);
  }

  get #first(): Expectation {
    const [world] = this.#worlds;
    if (world === undefined) throw new Error('nothing is expected');
    return world;
  }

  /** Goes on with what may still be expected. Throws the last objection when that is nothing. */
  async #agree(check: (world: Expectation) => void | Promise<void>): Promise<void> {
    const left: Expectation[] = [];
    let objection: unknown = new Error('no order of the two explains what was answered');
    for (const world of this.#worlds) {
      try {
        await check(world);
        left.push(world);
      } catch (error) {
        objection = error;
      }
    }
    if (left.length === 0) throw new Error(`after ${this.#told}`, { cause: objection });
    this.#worlds = left;
  }

  get #told(): string {
    return this.#played.join(', ') || 'nothing';
  }
}

/** An approval of a call. */
interface Which {
  readonly at: number;
  readonly nth: number;
}

function answerTo(world: Expectation, { at, nth }: Which, said: Said): Answer {
  const call = world.calls[at];
  return call === undefined ? 'unknown' : world.answerTo(call, said, nth);
}

/** Worlds side by side share nothing but the turns of the event loop, which each waits for. */
const AT_ONCE = 40;

/** Plays each sequence in a world of its own. Gives what failed and how, shortest first. */
export async function failuresOf(
  setting: Setting,
  sequences: readonly (readonly Stimulus[])[],
): Promise<readonly string[]> {
  const failures: string[] = [];
  const left = sequences.values();
  const worker = async () => {
    for (const sequence of left) {
      const message = await failureOf(setting, sequence);
      if (message !== undefined) failures.push(message);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return failures.toSorted((a, b) => a.length - b.length);
}

async function failureOf(
  setting: Setting,
  sequence: readonly Stimulus[],
): Promise<string | undefined> {
  try {
    await new ApprovalCase(setting).play(sequence);
    return undefined;
  } catch (error) {
    const said = error instanceof Error ? `${error.message}: ${String(error.cause)}` : '';
    return `[${sequence.map(labelOf).join(', ')}] ${said}`;
  }
}
