import { describe, expect, it } from 'vitest';
import {
  type AnyEventObject,
  assign,
  createActor,
  sendTo,
  setup,
  spawnChild,
  stopChild,
} from 'xstate';
import { createPorts } from '../../src/testing/ports.ts';

/** Runs a chart with one child "job" of the port "work", and notes what the chart hears of it. */
function startParent() {
  const ports = createPorts(['work'], {
    work: (input: string) => ({ shown: `first of ${input}` }),
  });
  const machine = setup({
    types: { context: {} as { heard: AnyEventObject[] }, events: {} as AnyEventObject },
    actors: ports.actors,
  }).createMachine({
    context: { heard: [] },
    entry: spawnChild('work', { id: 'job', input: 'coal', syncSnapshot: true }),
    on: {
      'parent.ask': { actions: sendTo('job', { type: 'job.ask' }) },
      'parent.stop': { actions: stopChild('job') },
      '*': {
        actions: assign({ heard: ({ context, event }) => [...context.heard, event] }),
      },
    },
  });
  const actor = createActor(machine).start();
  const job = ports.live('job');
  if (job === undefined) throw new Error('the child has not started');
  const heard = (prefix: string) =>
    actor.getSnapshot().context.heard.filter(({ type }) => type.startsWith(prefix));
  return { actor, ports, job, heard };
}

describe('fake children', () => {
  it('say what they were started with', () => {
    const { job, ports } = startParent();
    expect([job.id, job.src, job.input, job.state]).toEqual(['job', 'work', 'coal', 'running']);
    expect(ports.calls).toEqual([job]);
  });

  it('end with an output when the test resolves them', () => {
    const { job, ports, heard } = startParent();
    job.resolve({ tons: 3 });
    expect(heard('xstate.done')).toMatchObject([{ actorId: 'job', output: { tons: 3 } }]);
    expect([job.state, ports.live('job')]).toEqual(['resolved', undefined]);
  });

  it('end with an error when the test rejects them', () => {
    const { job, heard } = startParent();
    job.reject(new Error('collapsed'));
    expect(heard('xstate.error')).toMatchObject([
      { actorId: 'job', error: { message: 'collapsed' } },
    ]);
    expect(job.state).toBe('rejected');
  });

  it('tell their chart of events and keep what it sends them', () => {
    const { actor, job, heard } = startParent();
    job.tell({ type: 'job.halfway' });
    actor.send({ type: 'parent.ask' });
    expect(heard('job.')).toEqual([{ type: 'job.halfway' }]);
    expect(job.received).toEqual([{ type: 'job.ask' }]);
  });

  it('show their first snapshot and every later one', () => {
    const { job, heard } = startParent();
    job.show({ shown: 'second' });
    const shown = heard('xstate.snapshot').map(({ snapshot }) => snapshot.shown);
    expect(shown).toEqual(['first of coal', 'second']);
  });

  it('are stopped when their chart lets go of them, and then take nothing more', () => {
    const { actor, job } = startParent();
    actor.send({ type: 'parent.stop' });
    expect(job.state).toBe('stopped');
    expect(() => job.resolve()).toThrow('The child "job" is stopped already.');
    expect(() => job.tell({ type: 'job.late' })).toThrow('stopped already');
  });
});
