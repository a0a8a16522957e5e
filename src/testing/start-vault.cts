// The declarations for programs that load this module by `require`.
import type * as module from './start-vault.ts' with { 'resolution-mode': 'import' };

export type * from './start-vault.ts' with { 'resolution-mode': 'import' };
export declare const startVault: typeof module.startVault;
