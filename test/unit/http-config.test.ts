import { describe, expect, it } from 'vitest';
import { httpConfigOf } from '../../src/http-config.ts';
import { configOf, MINIMAL, type Told } from '../support/config-kit.ts';

/** Hazard: a setting that is read and passed to nobody looks as if it worked. */

const told = (given: Told = {}) => httpConfigOf(configOf(MINIMAL, given));

describe('the HTTP side', () => {
  it.each([
    [undefined, 1_048_576],
    ['400', 1_048_576],
    ['4000', 10_485_760],
    ['100', 262_144],
    ['1', 262_144],
  ])('with a streaming buffer of %s chunks holds at most %i bytes for a reader', (size, bytes) => {
    const flags = size === undefined ? {} : { 'streaming-buffer-size': size };
    expect(told({ flags }).sseBufferBytesMax).toBe(bytes);
  });

  it('is told what a chat does without a reader and in a busy session', () => {
    const config = configOf(MINIMAL);
    const change = {
      liveness: { ...config.liveness, chat: { policy: 'park', graceMs: 7 } as const },
      onBusy: { ...config.onBusy, chat: 'interrupt' as const },
    };
    expect(httpConfigOf({ ...config, ...change })).toMatchObject({
      liveness: { policy: 'park', graceMs: 7 },
      onBusy: 'interrupt',
    });
  });

  it('takes the address that clients use for its own', () => {
    const env = {
      AURA_SERVER_URL: 'https://agents.example/base/',
      RUNWARDEN_ALLOWED_ORIGINS: 'https://chat.example',
    };
    expect(told({ env }).allowedOrigins).toEqual([
      'https://chat.example',
      'https://agents.example',
    ]);
    expect(told().allowedOrigins).toEqual([]);
  });

  it('is told every setting of a stream', () => {
    const env = {
      HOST: '::1',
      PORT: '0',
      TOOL_RESULT_MODE: 'hidden',
      TOOL_RESULT_MAX_LENGTH: '7',
      AURA_CUSTOM_EVENTS: 'on',
      AURA_EMIT_REASONING: 'on',
      AURA_DEBUG_PROVIDER_ERRORS: 'on',
    };
    expect(told({ env })).toMatchObject({
      host: '::1',
      port: 0,
      toolResultMode: 'hidden',
      toolResultMaxLength: 7,
      customEvents: true,
      emitReasoning: true,
      debugProviderErrors: true,
    });
  });
});
