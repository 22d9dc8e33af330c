/**
 * Whether a chat-completions request is one that OpenAI and stricter upstreams accept. What is
 * checked here is what real ones refuse: a history that does not pair calls with results above all.
 */

type Fields = Readonly<Record<string, unknown>>;

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Says what is wrong with the body, or undefined when nothing is. */
export function faultOf(body: unknown): string | undefined {
  if (!isFields(body)) return 'The body must be a JSON object.';
  if (typeof body['model'] !== 'string' || body['model'] === '')
    return 'you must provide a model parameter';
  if (body['stream'] !== true) return "This upstream only streams: 'stream' must be true.";
  return messagesFault(body['messages']) ?? toolsFault(body['tools']) ?? numbersFault(body);
}

function messagesFault(messages: unknown): string | undefined {
  if (!Array.isArray(messages) || messages.length === 0) {
    return "Invalid 'messages': expected an array with minimum length 1.";
  }
  for (const [at, message] of messages.entries()) {
    const fault = isFields(message) ? messageFault(message) : 'expected an object.';
    if (fault !== undefined) return `Invalid 'messages[${at}]': ${fault}`;
  }
  return pairingFault(messages.filter(isFields));
}

function messageFault(message: Fields): string | undefined {
  switch (message['role']) {
    case 'system':
    case 'developer':
    case 'user':
      return isContent(message['content']) ? undefined : 'content must be text or text parts.';
    case 'tool':
      if (typeof message['tool_call_id'] !== 'string') return "missing 'tool_call_id'.";
      return isContent(message['content']) ? undefined : 'content must be text or text parts.';
    case 'assistant':
      return assistantFault(message);
    default:
      return `'${String(message['role'])}' is not one of the roles.`;
  }
}

function assistantFault({ content, tool_calls: calls }: Fields): string | undefined {
  if (calls === undefined)
    return isContent(content) ? undefined : 'content or tool_calls is needed.';
  if (!Array.isArray(calls) || calls.length === 0)
    return "empty 'tool_calls': expected at least 1.";
  if (content !== null && content !== undefined && !isContent(content))
    return 'content must be text.';
  for (const call of calls) {
    const fault = callFault(isFields(call) ? call : {});
    if (fault !== undefined) return fault;
  }
  return new Set(calls.map((call: Fields) => call['id'])).size === calls.length
    ? undefined
    : "two of 'tool_calls' have the same id.";
}

function callFault({ id, type, function: called }: Fields): string | undefined {
  if (typeof id !== 'string' || id === '') return "a tool call has no 'id'.";
  if (type !== 'function') return "a tool call's type must be 'function'.";
  const { name, arguments: args } = isFields(called) ? called : {};
  if (typeof name !== 'string' || !TOOL_NAME.test(name))
    return 'the name of a function is invalid.';
  return isJsonObject(args)
    ? undefined
    : "a function's arguments must be a JSON object in a string.";
}

/** Every call is answered once, right behind the message that made it, and nothing else is. */
function pairingFault(messages: readonly Fields[]): string | undefined {
  let open = new Set<unknown>();
  for (const message of messages) {
    if (message['role'] === 'tool') {
      if (!open.delete(message['tool_call_id'])) return STRAY_RESULT;
      continue;
    }
    if (open.size > 0) return unanswered(open);
    const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
    open = new Set(calls.map((call: Fields) => call['id']));
  }
  return open.size > 0 ? unanswered(open) : undefined;
}

const STRAY_RESULT =
  "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";

function unanswered(ids: ReadonlySet<unknown>): string {
  return (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
    `'tool_call_id'. The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`
  );
}

function toolsFault(tools: unknown): string | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || tools.length === 0) return "Invalid 'tools': empty array.";
  const names = new Set<unknown>();
  for (const tool of tools) {
    const { type, function: told } = isFields(tool) ? tool : {};
    const { name, parameters } = isFields(told) ? told : {};
    if (type !== 'function') return "Invalid 'tools': type must be 'function'.";
    if (typeof name !== 'string' || !TOOL_NAME.test(name)) return "Invalid 'tools': invalid name.";
    if (names.has(name)) return `Invalid 'tools': the name '${name}' stands twice.`;
    if (parameters !== undefined && !isFields(parameters)) return "Invalid 'tools': parameters.";
    names.add(name);
  }
  return undefined;
}

function numbersFault(body: Fields): string | undefined {
  for (const key of ['max_tokens', 'max_completion_tokens']) {
    const value = body[key];
    if (value !== undefined && !(Number.isInteger(value) && Number(value) > 0)) {
      return `Invalid '${key}': integer above 0 expected.`;
    }
  }
  const { temperature = 1 } = body;
  const isInRange = typeof temperature === 'number' && temperature >= 0 && temperature <= 2;
  return isInRange ? undefined : "Invalid 'temperature': a number from 0 to 2 expected.";
}

function isContent(content: unknown): boolean {
  if (typeof content === 'string') return true;
  if (!Array.isArray(content) || content.length === 0) return false;
  return content.every((part) => isFields(part) && typeof part['type'] === 'string');
}

function isJsonObject(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  try {
    return isFields(JSON.parse(text));
  } catch {
    return false;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
