/** What the comment above a machine says. */
export interface ChartDoc {
  /** Its first paragraph. */
  readonly purpose: string;
  /** The numbered invariants, as they are cited: `{ number: 'S1', text: … }`. */
  readonly invariants: readonly { readonly number: string; readonly text: string }[];
}

/**
 * Reads the comment that stands directly above the exported machine of a chart's source. Throws when
 * there is none, because a chart without a purpose cannot be read.
 */
export function readChartDoc(source: string, file: string): ChartDoc {
  const comment = /\/\*\*((?:(?!\*\/)[^])*)\*\/\s*export const \w+Machine\b/.exec(source);
  if (!comment) throw new Error(`${file}: the machine needs a doc comment with its purpose.`);
  const lines = (comment[1] as string).split('\n').map((line) => line.replace(/^\s*\*? ?/, ''));
  const paragraphs = lines
    .join('\n')
    .trim()
    .split(/\n\s*\n/);
  return {
    purpose: oneLine(paragraphs.find((paragraph) => !NUMBERED.test(paragraph)) ?? ''),
    invariants: paragraphs.flatMap(invariantsOf),
  };
}

const NUMBERED = /^([A-Z]+\d+)\. /;

/** An invariant starts with its number and goes on over the lines that have none. */
function invariantsOf(paragraph: string): { number: string; text: string }[] {
  const found: { number: string; text: string }[] = [];
  for (const line of paragraph.split('\n')) {
    const numbered = NUMBERED.exec(line);
    const last = found.at(-1);
    if (numbered)
      found.push({ number: numbered[1] as string, text: line.slice(numbered[0].length) });
    else if (last) last.text = `${last.text} ${line}`;
  }
  return found.map(({ number, text }) => ({ number, text: oneLine(text) }));
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
