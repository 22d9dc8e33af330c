import { plain } from './plain.ts';
import { padded, widthOf } from './width.ts';

/** One part of a record: a title, and rows of a name and a value as they came from the server. */
export interface Section {
  readonly title: string;
  readonly rows: readonly (readonly [name: string, value: string])[];
}

/** Readable sections with an empty line between them; those without rows are left out. */
export function sections(parts: readonly Section[]): string {
  const shown = parts.filter(({ rows }) => rows.length > 0);
  return `${shown.map(sectionText).join('\n\n')}\n`;
}

function sectionText({ title, rows }: Section): string {
  const names = rows.map(([name]) => plain(name));
  const room = names.reduce((most, name) => Math.max(most, widthOf(name)), 0) + 2;
  const lines = rows.map(([, value], index) =>
    `  ${padded(names[index] ?? '', room)}${plain(value)}`.trimEnd(),
  );
  return [plain(title), ...lines].join('\n');
}
