// The declarations for programs that load this module by `require`.
import type * as module from './create-client.ts' with { 'resolution-mode': 'import' };

export type * from './create-client.ts' with { 'resolution-mode': 'import' };
export declare const createClient: typeof module.createClient;
export declare const VaultError: typeof module.VaultError;
export type VaultError = module.VaultError;
