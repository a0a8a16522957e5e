/** The number that ids, keys and test data follow from; of several commands. */
export const SEED_FLAG = {
  flag: '--seed <number>',
  env: 'VAULT_SEED',
  help: 'makes ids, keys and test data predictable; only for test vaults',
} as const;
