import { readFile } from 'node:fs/promises';

/** Beside the sources as beside what is built of them. */
const PICTURE = new URL('../../diagrams/run.svg', import.meta.url);

let picture: Promise<string> | undefined;

/** The picture of the run's chart, as it was drawn. Rejects when the file is not there. */
export function runPicture(): Promise<string> {
  picture ??= readFile(PICTURE, 'utf8');
  // A file that could not be read may be there the next time.
  picture.catch(() => {
    picture = undefined;
  });
  return picture;
}
