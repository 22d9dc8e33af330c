/**
 * Every default, in one place. Units are the last word of the name; seconds, because that is what
 * flags, environment and TOML say.
 */
export const DEFAULTS = Object.freeze({
  configPath: 'config.toml',
  dataDir: '.runwarden',
  host: '127.0.0.1',
  port: 8080,
  logLevel: 'info',
  toolResultMode: 'none',
  toolResultMaxLength: 1_000,
  streamingBufferSize: 400,
  customEvents: false,
  emitReasoning: false,
  debugProviderErrors: false,
  shutdownTimeoutSecs: 30,
  setupSecs: 30,
  mcpConnectSecs: 10,
  firstChunkSecs: 90,
  inactivitySecs: 0,
  stepSecs: 300,
  stepAllowanceSecs: 60,
  toolSecs: 120,
  toolStopGraceSecs: 5,
  totalSecs: 900,
  parallelToolsMax: 4,
  store: 'sqlite',
  durability: 'process',
  turnDepth: 5,
  approvalSecs: 60,
  scriptedModel: 'demo',
});
