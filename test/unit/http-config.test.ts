import { describe, expect, it } from 'vitest';
import { httpConfigOf } from '../../src/http-config.ts';
import { configOf, keyText, MINIMAL, type Told } from '../support/config-kit.ts';

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

  it('is told what each seam does without a reader and in a busy session', () => {
    const env = {
      RUNWARDEN_CHAT_POLICY: 'park',
      RUNWARDEN_CHAT_GRACE_SECS: '7',
      RUNWARDEN_CHAT_ON_BUSY: 'interrupt',
      RUNWARDEN_HEADLESS_POLICY: 'cancel',
      RUNWARDEN_HEADLESS_GRACE_SECS: '0.5',
      RUNWARDEN_HEADLESS_ON_BUSY: 'enqueue',
    };
    expect(told({ env })).toMatchObject({
      liveness: { policy: 'park', graceMs: 7_000 },
      onBusy: 'interrupt',
      headless: { liveness: { policy: 'cancel', graceMs: 500 }, onBusy: 'enqueue' },
    });
  });

  it('is told what signatures are held against, and which header says who decides', () => {
    const config = configOf(MINIMAL);
    const webhookSigning = {
      secret: 'x'.repeat(32),
      secondary: 'y'.repeat(32),
      toleranceMs: 5_000,
    };
    const server = { ...config.server, deciderHeader: 'x-user' };
    const http = httpConfigOf({ ...config, server, webhookSigning });
    expect(http).toMatchObject({ webhookSigning, deciderHeader: 'x-user' });
    expect(httpConfigOf(config)).not.toHaveProperty('webhookSigning');
    expect(httpConfigOf(config)).not.toHaveProperty('deciderHeader');
  });

  it('is told who may call, and of nobody while the server is open', () => {
    const config = configOf(`${MINIMAL}${keyText({ name: 'ops' })}`);
    expect(httpConfigOf(config).auth).toBe(config.auth);
    expect(config.auth?.keys[0]?.name).toBe('ops');
    expect(told()).not.toHaveProperty('auth');
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
