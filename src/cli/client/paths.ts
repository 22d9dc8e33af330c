import { wrongUsage } from './errors.ts';

/** An id as one segment of a path. Throws wrong usage for what no path can name. */
export function segment(id: string): string {
  // Such segments are steps through the path, encoded or not.
  if (id === '' || id === '.' || id === '..') throw wrongUsage(`"${id}" is no id.`);
  if (!id.isWellFormed()) throw wrongUsage('The id holds half a character; copy it whole.');
  return encodeURIComponent(id);
}
