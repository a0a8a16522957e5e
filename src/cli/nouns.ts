interface NounRow {
  readonly summary: string;
  readonly alias?: string;
}

/** The first words of subcommands that have two, in the order of the help. */
export const NOUNS = {
  tokens: { summary: 'Create, list, get, change and delete tokens' },
  apps: { summary: 'Manage applications, their API keys and access rules', alias: 'applications' },
  tenant: { summary: 'The tenant of the calling key, and the tenants of the file' },
  seed: { summary: 'A vault’s tenant, applications and tokens, as files say' },
  profile: { summary: 'Vaults and their credentials, kept under a name' },
  audit: { summary: 'What was done to the vault: who, what, when, and whether anything was altered since' },
  clock: { summary: 'The clock of a daemon started with --dev, for tests' },
  faults: { summary: 'What goes wrong with the next requests to a daemon started with --dev' },
  snapshot: { summary: 'States of the file to go back to' },
  keys: { summary: 'The keys of the file: what opens it, and what seals its records' },
} as const satisfies Record<string, NounRow>;
