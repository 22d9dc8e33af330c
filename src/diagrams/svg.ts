import { instance } from '@viz-js/viz';

/**
 * Lays out DOT as SVG. The same text gives the same bytes: Graphviz runs as WebAssembly with its own
 * font metrics, and the comments that name its version are left out.
 */
export async function toSvg(dot: string, title: string): Promise<string> {
  const viz = await instance();
  const svg = viz.renderString(dot, { format: 'svg', engine: 'dot' });
  const drawing = svg.slice(svg.indexOf('<svg'));
  return drawing
    .replaceAll('font-family="Verdana"', 'font-family="Helvetica,Arial,Verdana,sans-serif"')
    .replace(/<!--[^]*?-->\n?/g, '')
    .replace(/<title>[^]*?<\/title>\n?/g, '')
    .replace(/(<svg[^>]*)>/, `$1 role="img" aria-label="Statechart of ${title}">`);
}
