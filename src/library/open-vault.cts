// The declarations for programs that load this module by `require`.
import type * as module from './open-vault.ts' with { 'resolution-mode': 'import' };

export type * from './open-vault.ts' with { 'resolution-mode': 'import' };
export declare const openVault: typeof module.openVault;
