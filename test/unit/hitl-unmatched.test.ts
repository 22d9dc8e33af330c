import { describe, expect, it } from 'vitest';
import { unmatchedPatterns } from '../../src/hitl/unmatched.ts';

describe('patterns that hold nothing back', () => {
  it('are those that match no name, each once', () => {
    const patterns = ['delete_*', 'db.truncate', 'DELETE_FILE', 'db.truncate', '*'];
    const names = ['delete_file', 'db_truncate'];
    expect(unmatchedPatterns(patterns, names)).toEqual(['db.truncate', 'DELETE_FILE']);
  });

  it('are all of them where there is no tool, and none where there is no pattern', () => {
    expect(unmatchedPatterns(['*'], [])).toEqual(['*']);
    expect(unmatchedPatterns([], ['a'])).toEqual([]);
  });
});
