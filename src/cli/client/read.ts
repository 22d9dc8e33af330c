import type { z } from 'zod';
import { foreignServer } from './errors.ts';

/** What the server sent as `shape` wants it. Throws {@link OperatorError} that names the field. */
export function read<Shape extends z.ZodType>(shape: Shape, json: unknown): z.output<Shape> {
  const result = shape.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue === undefined || issue.path.length === 0 ? 'it' : issue.path.join('.');
  throw foreignServer(
    `The answer is not as expected: ${field}: ${issue?.message ?? 'invalid'}. ` +
      'Server and command may be of different versions; --json prints it as it came.',
  );
}
