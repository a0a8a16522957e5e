/** A word that begins longer subcommands. */
export interface NounRow {
  readonly summary: string;
  /** Other spellings, which work and which the help does not show. */
  readonly aliases?: readonly string[];
  /** The second words of its three-word subcommands. */
  readonly nouns?: Nouns;
}

export type Nouns = Readonly<Record<string, NounRow>>;

/** The first words of longer subcommands. */
export const NOUNS = {
  tokens: { summary: 'Create, list, get, patch and delete tokens', aliases: ['token'] },
  apps: {
    summary: 'Manage applications, API keys and access rules',
    aliases: ['applications', 'application', 'app'],
    nouns: { keys: { summary: 'Create, list and delete the API keys of an application', aliases: ['key'] } },
  },
  tenant: { summary: 'Manage tenants', aliases: ['tenants'] },
  seed: { summary: 'Apply seed files', aliases: ['seeds'] },
  audit: { summary: 'List, verify, export and prune the audit', aliases: ['audits'] },
  keys: { summary: 'Manage and rotate the keys of the vault', aliases: ['key'] },
  profile: { summary: 'Name vaults and their credentials', aliases: ['profiles'] },
  dev: {
    summary: 'Clock, faults and snapshots of a test vault',
    nouns: {
      clock: { summary: 'Show and move the clock of a --dev daemon', aliases: ['clocks'] },
      faults: { summary: 'Inject faults into a --dev daemon', aliases: ['fault'] },
      snapshot: { summary: 'Save and load snapshots', aliases: ['snapshots'] },
    },
  },
} as const satisfies Record<string, NounRow>;

/** The first words in the order of the help, by group. `vault help` leaves out the last group. */
export const GROUPS = {
  'Start:': ['init', 'serve', 'ui', 'exec', 'wait', 'env'],
  'Operations, over HTTP or on the file:': ['tokens', 'apps', 'tenant', 'usage', 'tokenize', 'detokenize'],
  'Data:': ['import', 'export', 'seed'],
  'Operate:': ['audit', 'keys', 'backup', 'restore', 'doctor', 'profile'],
  'Test:': ['dev'],
  'More:': ['compact', 'move', 'openapi', 'completion', 'keygen'],
} as const;

/** The group that only `vault help all` shows. */
export const HIDDEN_GROUP = 'More:';

/** The commands for words from before the first release, and for words that people guess. */
export const RENAMED: Readonly<Record<string, string>> = {
  logs: 'audit list',
  log: 'audit list',
  'audit log': 'audit list',
  whoami: 'apps whoami',
  auth: 'profile add',
  login: 'profile add',
  'apps keys rotate': 'apps keys create NAME, then vault apps keys delete NAME KEY_ID',
  clock: 'dev clock',
  faults: 'dev faults',
  requests: 'dev requests',
  'dev request': 'dev requests',
  usages: 'usage',
  'apps permission': 'apps permissions',
  snapshot: 'dev snapshot',
  reset: 'dev reset',
  permissions: 'apps permissions',
  'keys status': 'keys list --tenants',
  'apps reach': 'apps explain',
  'apps rename': 'apps edit NAME --name NEW_NAME',
  'tokens walk': 'tokens list --cursor',
  'tokens walk-search': 'tokens search --cursor',
  'tenant activity': 'usage --months N',
};

/** Returns the row of a noun; undefined for any other word. */
export function nounRow(word: string, nouns: Nouns = NOUNS): NounRow | undefined {
  return Object.hasOwn(nouns, word) ? nouns[word] : undefined;
}

/** Returns the noun for a word, which may be another spelling; undefined for any other word. */
export function nounOf(word: string, nouns: Nouns = NOUNS): string | undefined {
  return Object.entries(nouns).find(([name, { aliases = [] }]) => word === name || aliases.includes(word))?.[0];
}
