import type { Environment } from './global-flags.ts';

const SERVICE_ADDRESS = /^[a-z][a-z\d+.-]*:\/\//i;

/** The variables that other programs also set or read, with the values that are theirs and never ours. */
const FOREIGN: Readonly<Record<string, { readonly theirs: RegExp; readonly reason: string }>> = {
  VAULT_PORT: { theirs: SERVICE_ADDRESS, reason: 'Kubernetes sets this address for a Service named vault' },
  VAULT_UI_PORT: { theirs: SERVICE_ADDRESS, reason: 'Kubernetes sets this address for a Service named vault-ui' },
  VAULT_RATE_LIMIT: {
    theirs: /^\d+(?:\.\d+)?(?::\d+)?$/,
    reason: 'a rate without a unit is for another program; write 100/s, 600/m or 5000/h',
  },
};

/** Returns the environment without the values that are for other programs, and a sentence about each of them. */
export function withoutForeign(env: Environment): { readonly env: Environment; readonly ignored: readonly string[] } {
  const found = Object.entries(FOREIGN).filter(([name, { theirs }]) => theirs.test(env[name] ?? ''));
  if (found.length === 0) return { env, ignored: [] };
  return {
    env: { ...env, ...Object.fromEntries(found.map(([name]) => [name, undefined])) },
    ignored: found.map(([name, { reason }]) => `${name} is ignored: ${reason}`),
  };
}
