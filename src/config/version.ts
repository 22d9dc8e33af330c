import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The version of this package. The sources and the built files lie at different depths, so it
 * looks upwards for the package they belong to.
 */
export function packageVersion(): string {
  for (let at = import.meta.dirname; at !== dirname(at); at = dirname(at)) {
    const manifest = readManifest(join(at, 'package.json'));
    if (manifest?.['name'] === 'runwarden') return String(manifest['version']);
  }
  throw new Error('No package.json of runwarden lies above its own files.');
}

function readManifest(path: string): Record<string, unknown> | undefined {
  try {
    const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof manifest === 'object' && manifest !== null ? { ...manifest } : undefined;
  } catch {
    return undefined;
  }
}
