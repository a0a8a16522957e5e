import { fileURLToPath } from 'node:url';

const TENANT = '69cbfda3-79e9-4f58-b25f-6f68bd505227';

/** The words that commands need besides their names and the ids of their records. `<folder>` is that of the test. */
export const MORE_WORDS: Readonly<Record<string, readonly string[]>> = {
  'tokens create': ['--type', 'token', '--data', '1'],
  'tokens preview': ['--type', 'token', '--data', '1'],
  'tokens patch': ['--metadata', 'a=b'],
  'apps create': ['--name', 'n', '--type', 'public', '--permission', 'token:create'],
  'apps update': ['--name', 'n'],
  'apps grant': ['some-id', '--permission', 'token:read'],
  'apps revoke': ['some-id', '--permission', 'token:read'],
  'apps edit': ['some-id', '--name', 'n'],
  'apps explain': ['--token', 't'],
  'tenant update': ['--name', 'n'],
  'tenant create': ['--name', 'n'],
  'tenant issue-key': ['--tenant', TENANT],
  'tenant accept': ['--tenant', TENANT],
  'keys add': ['--new-key-file', '<folder>/other.key'],
  'keys remove': ['--slot', '0'],
  'audit prune': ['--before', '2020-01-01', '--archive', '<folder>/old.audit'],
  move: ['--from', 'locked.db', '--to', 'moved.db'],
  backup: ['<folder>/out.db'],
  restore: ['<folder>/x.db'],
  serve: ['--port', '0'],
  exec: ['--', 'no-such-command-here'],
  wait: ['--timeout', '300ms'],
  ui: ['--no-open'],
  'dev snapshot save': ['base'],
  'dev snapshot load': ['base'],
  'dev snapshot delete': ['base'],
  'dev clock set': ['2030-01-31'],
  'dev clock advance': ['1h'],
  'dev faults set': ['POST /tokens', '--drop'],
  export: ['--plaintext'],
  import: ['<folder>/rows.ndjson'],
  'seed apply': [fileURLToPath(new URL('../recipes/seed.yaml', import.meta.url))],
};
