import { wrongUsage } from '../client/errors.ts';
import { type OperatorCall, option } from '../operator.ts';
import { decide } from './decide.ts';

/** `runwarden approvals approve APPROVAL`: lets the tool call go on. */
export function approve(call: OperatorCall): Promise<void> {
  const reason = option(call, 'reason');
  const edited = objectOf(call, 'arguments');
  const content = objectOf(call, 'content');
  const forSession = call.flags['for-session'] === true;
  if (edited !== undefined && forSession) throw wrongUsage(ONE_OR_THE_OTHER);
  return decide(call, {
    approved: true,
    ...(reason === undefined ? {} : { reason }),
    ...(edited === undefined ? {} : { arguments: edited }),
    ...(forSession ? { grant: 'session' } : {}),
    ...(content === undefined ? {} : { content }),
  });
}

const ONE_OR_THE_OTHER =
  'Give --arguments or --for-session, not both: edited arguments are approved for this call alone.';

const EXAMPLES = { arguments: '{"path":"notes.txt"}', content: '{"name":"Ann"}' } as const;

/** The JSON object of an option. Throws wrong usage for anything else. */
function objectOf(call: OperatorCall, name: keyof typeof EXAMPLES): object | undefined {
  const text = option(call, name);
  if (text === undefined) return undefined;
  const value = parsed(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw wrongUsage(`--${name} is no JSON object; one looks like '${EXAMPLES[name]}'.`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
