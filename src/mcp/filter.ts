/** Whether a sanitised tool name is let through. */
export type ToolFilter = (name: string) => boolean;

/**
 * Compiles `mcp_filter`. Undefined lets everything through, an empty list nothing. Only `*` and `?`
 * are special.
 */
export function compileToolFilter(globs: readonly string[] | undefined): ToolFilter {
  if (globs === undefined) return () => true;
  return (name) => globs.some((glob) => matchesGlob(glob, name));
}

/**
 * Whether the whole name matches. No regular expression, whose time would grow without measure with
 * the number of stars: a mismatch goes back to the last star alone, which is enough.
 */
function matchesGlob(glob: string, name: string): boolean {
  let at = 0;
  let star = -1;
  let resumeAt = 0;
  for (let index = 0; index < name.length; ) {
    if (glob[at] === '*') {
      star = at;
      at += 1;
      resumeAt = index;
    } else if (glob[at] === '?' || glob[at] === name[index]) {
      at += 1;
      index += 1;
    } else if (star !== -1) {
      at = star + 1;
      resumeAt += 1;
      index = resumeAt;
    } else {
      return false;
    }
  }
  while (glob[at] === '*') at += 1;
  return at === glob.length;
}
