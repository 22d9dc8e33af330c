/** Frame and face of an active state; the frame is also wider: colour is not all that tells. */
const FRAME = '#b45309';
const FACE = '#ffe3a3';
const FRAME_WIDTH = '2.5';

/**
 * The picture of a chart with states marked as active. `ids` are the states' ids in the chart,
 * which the picture carries. A state around active ones gets the frame alone, so that what is in it
 * stays readable. Attributes are changed and no style is added: no policy of a page stops that.
 */
export function markStates(svg: string, ids: ReadonlySet<string>): string {
  return svg.replace(STATE, (drawn: string, id: string, kind: string) =>
    ids.has(id) ? marked(drawn, kind) : drawn,
  );
}

/** A state's group up to its first text: what stands between is its box. */
const STATE = /<g id="([^"]+)" class="(node|cluster)">[^]*?(?=<text|<\/g>)/g;

function marked(drawn: string, kind: string): string {
  const framed = drawn
    .replace(/(<g id="[^"]+" class=")(?:node|cluster)"/, `$1${kind} active"`)
    .replace(/ stroke="[^"]*"/g, ` stroke="${FRAME}" stroke-width="${FRAME_WIDTH}"`);
  return kind === 'cluster' ? framed : framed.replace(/ fill="(?!none)[^"]*"/g, ` fill="${FACE}"`);
}

/** The ids of a chart's states from its root down to the paths: all of them are active. */
export function idsOf(chart: string, paths: readonly string[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const path of paths) {
    let id = chart;
    for (const name of path.split('.')) {
      id = `${id}.${name}`;
      ids.add(id);
    }
  }
  return ids;
}
