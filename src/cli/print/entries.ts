import type { Entry } from '../client/shapes.ts';
import { eventText } from './event-text.ts';
import { plain, plainProse } from './plain.ts';
import { clockText } from './time.ts';
import { padded } from './width.ts';

export interface EntryPrinterOptions {
  out(text: string): void;
  /** Joins the pieces of text and reasoning, which is for a person; else each is a line. */
  readonly running: boolean;
  /** Several runs are in the stream, so that each line says whose it is. */
  readonly whole: boolean;
}

/** Columns: as many as the longest type of the journal has. */
const TYPE_COLUMNS = 18;
const SEQ_COLUMNS = 5;

/** The end of a run's id: its beginning is the time, which runs of one moment share. */
const RUN_CHARACTERS = 8;

/** Prints the entries of a stream for a person. */
export class EntryPrinter {
  readonly #options: EntryPrinterOptions;
  /** Whose text, and which, is being printed; undefined after a line. */
  #speaker: string | undefined;
  #atLineStart = true;

  constructor(options: EntryPrinterOptions) {
    this.#options = options;
  }

  print(entry: Entry): void {
    const piece = this.#options.running ? pieceOf(entry) : undefined;
    if (piece === undefined) this.#line(entry);
    else this.#speak(piece, entry.run_id ?? '');
  }

  /** Whatever else is printed begins on a line of its own. */
  endLine(): void {
    if (!this.#atLineStart) this.#options.out('\n');
    this.#atLineStart = true;
    this.#speaker = undefined;
  }

  #speak({ label, text }: Piece, runId: string): void {
    if (text === '') return;
    const speaker = `${label}${runId}`;
    if (this.#speaker !== speaker) {
      this.endLine();
      const run = this.#options.whole && runId !== '' ? `[${plain(shortId(runId))}] ` : '';
      this.#options.out(`${run}${label}`);
      this.#speaker = speaker;
    }
    const shown = plainProse(text);
    this.#options.out(shown);
    this.#atLineStart = shown.endsWith('\n');
  }

  #line({ run_id, seq, at, payload: { event } }: Entry): void {
    this.endLine();
    const place = seq === undefined ? '-' : String(seq);
    // A run is named whole where it begins, to be copied.
    const begins = event.type === 'started' || event.type === 'queued';
    const name = run_id === undefined ? '-' : begins ? run_id : shortId(run_id);
    const run = this.#options.whole ? `[${plain(name)}] ` : '';
    const type = padded(plain(event.type), TYPE_COLUMNS);
    const line = `${place.padStart(SEQ_COLUMNS)} ${clockText(at)} ${run}${type} ${plain(eventText(event))}`;
    this.#options.out(`${line.trimEnd()}\n`);
  }
}

const shortId = (runId: string): string => runId.slice(-RUN_CHARACTERS);

interface Piece {
  /** Stands before the first piece. */
  readonly label: string;
  readonly text: string;
}

function pieceOf({ payload: { event } }: Entry): Piece | undefined {
  if (event.type === 'text_delta') return pieceIn(event['text'], '');
  return event.type === 'reasoning' ? pieceIn(event['content'], 'reasoning: ') : undefined;
}

const pieceIn = (text: unknown, label: string): Piece | undefined =>
  typeof text === 'string' ? { label, text } : undefined;
