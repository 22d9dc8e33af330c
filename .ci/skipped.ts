import type { Reporter, TestModule } from 'vitest/node';

/** Says which tests were skipped and why, so that a green run does not hide what it left out. */
export class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')]);
    if (skipped.length === 0) {
      console.log('\nNo test was skipped.');
      return;
    }
    console.log(`\nSkipped ${skipped.length}:`);
    for (const test of skipped) console.log(`  ${test.fullName}: ${reason(test.result())}`);
  }
}

function reason(result: { readonly note?: string | undefined }): string {
  return result.note ?? 'marked in the test file';
}
