import type { AtRest } from './oracles.ts';
import type { SimReader } from './reader.ts';

/**
 * What each reader was given is a piece of the journal without a hole, byte for byte, and the answer of
 * a chat is what the journal has of it.
 */
export function readerFaults(rest: AtRest): readonly string[] {
  return rest.world.readers.flatMap((reader, at) =>
    (reader.of.kind === 'chat' ? chatFaults(rest, reader) : entryFaults(rest, reader)).map(
      (fault) => `reader ${at} of ${reader.of.kind} ${reader.of.id}: ${fault}`,
    ),
  );
}

function entryFaults(
  { world, records }: AtRest,
  { of, seen, unnumbered, complete, wasCut }: SimReader,
) {
  const gaps = unnumbered.map((data) => `is told of a gap: ${data}`);
  const [first] = seen;
  if (first === undefined) return gaps;
  const session =
    of.kind === 'session' ? of.id : records.find(({ run_id }) => run_id === of.id)?.session_id;
  const lines = world.disk
    .lines(session ?? '')
    .filter((line) => of.kind === 'session' || line.includes(`"run_id":"${of.id}"`));
  const from = lines.indexOf(first.json);
  const wrong = seen.findIndex(({ json }, at) => lines[from + at] !== json);
  if (from < 0 || wrong >= 0) {
    const at = Math.max(0, wrong);
    return [...gaps, `entry ${at} is ${seen[at]?.json}, the journal has ${lines[from + at]}`];
  }
  if (of.kind !== 'run') return gaps;
  const isTold = seen.at(-1)?.json === lines.at(-1);
  if (complete && !isTold) return [...gaps, `its stream ends in order after ${seen.at(-1)?.json}`];
  return wasCut && isTold ? [...gaps, 'its stream is cut behind the end of the run'] : gaps;
}

function chatFaults(
  { journals }: AtRest,
  { of, unnumbered, status }: SimReader,
): readonly string[] {
  if (status !== 200 || of.id === '') return [];
  const told = [...journals.values()].flat().filter(({ run_id }) => run_id === of.id);
  const text = plain(
    told.map(({ payload: { event } }) => (event.type === 'text_delta' ? event.text : '')).join(''),
  );
  const frames = unnumbered
    .filter((data) => data.startsWith('{'))
    .map((data) => JSON.parse(data) as Chunk);
  const given = plain(frames.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join(''));
  if (!text.startsWith(given)) return [`has the text ${given}, the journal ${text}`];
  const isWhole = frames.some(({ choices }) => choices?.[0]?.finish_reason === 'stop');
  return isWhole && text !== given ? [`ends with ${given}, the journal has ${text}`] : [];
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string };
    readonly finish_reason?: string | null;
  }[];
}

/**
 * The projection puts line breaks around a tool, and a sentence of its own behind what ended badly; the
 * models of a simulation say no letters.
 */
const plain = (text: string): string => text.replaceAll('\n', '').replace(/[A-Za-z*`].*$/, '');
