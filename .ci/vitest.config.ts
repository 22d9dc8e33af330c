import { defineConfig } from 'vitest/config';
import { SkippedReporter } from './skipped.ts';

export default defineConfig({
  test: {
    dir: 'test',
    // Its default leaves a core idle, which is half of a small machine.
    maxWorkers: '100%',
    setupFiles: [new URL('seed.ts', import.meta.url).pathname],
    // A busy machine of two cores is slow; a test that hangs is still found.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', new SkippedReporter()],
  },
});
