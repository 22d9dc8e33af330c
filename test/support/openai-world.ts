import { afterEach, expect } from 'vitest';
import { ModelError, type ModelRequest, type ModelSink, type ToolCall } from '../../src/model.ts';
import { createOpenAiProvider, type OpenAiOptions } from '../../src/providers/openai.ts';
import {
  type FakeUpstream,
  startFakeUpstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from '../../src/testing/fake-upstream.ts';
import type { UpstreamStep } from '../../src/testing/fake-upstream-steps.ts';
import { createVirtualClock } from '../../src/testing/virtual-clock.ts';

/** The key that the fake upstream asks for. */
export const KEY = 'sk-test-key';

/** A request that says as little as a request can. */
export const request: ModelRequest = { messages: [{ role: 'user', content: 'hello' }], tools: [] };

/** A signal that nothing aborts. */
export const never: AbortSignal = new AbortController().signal;

export type Respond = (request: UpstreamRequest) => UpstreamAnswer | Promise<UpstreamAnswer>;

/**
 * Gives a function that starts a fake upstream and a provider that uses it. The upstream is closed
 * after each test, which fails when the upstream found a fault in what it was sent.
 */
export function openAiWorld() {
  let upstream: FakeUpstream | undefined;

  afterEach(async () => {
    const faults = upstream?.faults;
    await upstream?.close();
    upstream = undefined;
    expect(faults ?? []).toEqual([]);
  });

  return async (respond: Respond, options: Partial<OpenAiOptions> = {}) => {
    upstream = await startFakeUpstream({ respond, apiKey: KEY });
    const provider = createOpenAiProvider({
      apiKey: KEY,
      model: 'gpt-4o',
      baseUrl: upstream.url,
      clock: createVirtualClock(),
      ...options,
    });
    return { upstream, provider };
  };
}

/** Answers every request with these steps. */
export const stepsOf =
  (...steps: UpstreamStep[]): Respond =>
  () => ({ steps });

export const raw = (bytes: string | Uint8Array): UpstreamStep => ({ kind: 'raw', bytes });

/** What the sink heard, joined where the pieces do not matter. */
export class Heard implements ModelSink {
  readonly texts: string[] = [];
  readonly reasonings: string[] = [];
  readonly calls: ToolCall[] = [];
  readonly order: string[] = [];
  readonly usages: unknown[] = [];
  readonly reasons: string[] = [];
  activities = 0;
  onText: (text: string) => void = () => {};
  room: Promise<void> | undefined;

  get content(): string {
    return this.texts.join('');
  }

  text(text: string): void {
    this.texts.push(text);
    this.order.push('text');
    this.onText(text);
  }

  reasoning(text: string): void {
    this.reasonings.push(text);
    this.order.push('reasoning');
  }

  toolCall(call: ToolCall): void {
    this.calls.push(call);
    this.order.push('toolCall');
  }

  usage(value: unknown): void {
    this.usages.push(value);
    this.order.push('usage');
  }

  finish(reason: string): void {
    this.reasons.push(reason);
    this.order.push('finish');
  }

  activity(): void {
    this.activities += 1;
  }

  full(): Promise<void> | undefined {
    return this.room;
  }

  /** Resolves when so much text is there. */
  reaches(content: string): Promise<void> {
    return new Promise((resolve) => {
      this.onText = () => {
        if (this.content.startsWith(content)) resolve();
      };
      this.onText('');
    });
  }
}

/** What an exchange was rejected with; throws what is no `ModelError`. */
export async function failureOf(exchange: Promise<void>): Promise<ModelError> {
  const error: unknown = await exchange.then(
    () => new Error('It resolved.'),
    (reason: unknown) => reason,
  );
  if (error instanceof ModelError) return error;
  throw error;
}
