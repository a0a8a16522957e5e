import { Fault } from '../core/fault.ts';
import type { Environment } from './global-flags.ts';

const VARIABLE = 'VAULT_INCLUDED_ACTIVE_TOKENS';

/**
 * `included_monthly_active_tokens` of the usage report (decisions §8), where it is set: by a flag of `vault serve`, and for
 * either door by the variable. Throws the fault `usage`.
 */
export function includedActiveTokens(typed: string | undefined, env: Environment): number | undefined {
  const text = typed ?? (env[VARIABLE] || undefined);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Fault('usage', `--included-active-tokens (${VARIABLE}) is a whole number`);
}
