/** The number that ids, keys and test data follow from; of several commands. */
export const SEED_FLAG = {
  flag: '--seed <number>',
  env: 'VAULT_SEED',
  help: 'ids, keys and test data follow from this number; anybody can work the keys out: for test vaults only',
} as const;
