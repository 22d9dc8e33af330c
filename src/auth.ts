/** What a key may be used for; `admin` stands for all of them. */
export type AuthScope = 'chat' | 'runs:read' | 'runs:control' | 'approvals:decide' | 'admin';

/** Who may call. There is at least one key; names and hashes are unique. */
export interface AuthConfig {
  readonly keys: readonly AuthKeyConfig[];
  readonly tenants: TenantLimitsConfig;
}

/** A key as it is kept: nobody can call with what stands here. */
export interface AuthKeyConfig {
  readonly name: string;
  /** SHA-256 of the key, 64 hex digits in lower case. */
  readonly hash: string;
  /** `''` owns what was written while the server was open. */
  readonly tenant: string;
  /** At least one. */
  readonly scopes: readonly AuthScope[];
}

/** What each tenant may use; 0 is no limit. */
export interface TenantLimitsConfig {
  readonly liveRunsMax: number;
  readonly requestsPerMinuteMax: number;
  readonly storedBytesMax: number;
}
