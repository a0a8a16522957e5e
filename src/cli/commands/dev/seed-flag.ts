/** The flag for the seed number of ids, keys and test data. Several commands have it. */
export const SEED_FLAG = {
  flag: '--seed <number>',
  env: 'VAULT_SEED',
  help: 'makes ids, keys and test data predictable; only for test vaults',
} as const;
