import { beforeAll, describe, expect, it } from 'vitest';
import { makePlace } from './cli-fixture.ts';

const place = makePlace();
let key = '';
beforeAll(async () => {
  key = await place.init('v');
});

const CREATE = ['tokens', 'create', '--type', 'token'];
const DATABASE = 'postgres://vault@127.0.0.1:1/vault?sslmode=disable';
const SECRET = '4242424242424242';

describe('two flags that exclude each other fail', () => {
  it.each<readonly [readonly string[], Readonly<Record<string, string>>, string]>([
    [[...CREATE, '--data', '1', '--curl', '--dry-run'], {}, 'only one of --curl and --dry-run can be given'],
    [[...CREATE, '--data', '1', '--data', SECRET], {}, '--data is given twice, but takes only one value'],
    [['tokens', 'create', '--body', '-', '--body', '@b.json'], {}, '--body is given twice, but takes only one value'],
    [[...CREATE, '--data', '1', '--deduplicate-token=true', '--deduplicate-token'], {}, '--deduplicate-token is given'],
    [['tokens', 'list', '-q', '-o', 'csv'], {}, 'only one of --quiet and --output can be given'],
    [['tokens', 'list', '-q', '--field', 'data'], {}, 'only one of --field and --quiet can be given'],
    [['tokens', 'list', '--all', '--page', '2'], {}, 'only one of --all and --page can be given'],
    [['serve', '--port', '0', '--socket', 's'], {}, 'only one of --socket and --port can be given'],
    [['serve', '--dev', '--port', '0', '--key-file', 'k'], {}, 'only one of --dev and --key-file can be given'],
    [['serve', '--dev', '--port', '0', '--store', DATABASE], {}, 'only one of --dev and --store can be given'],
    [['tokens', 'list', '--store', DATABASE, '--file', 'v.db'], {}, 'only one of --file and --store can be given'],
    [['init', '--file', 'w.db', '--grant', 'daemon'], {}, '--grant needs --store'],
    [['init', '--store', DATABASE], { VAULT_FILE: '' }, 'a database has no default key file'],
    [['restore', 'v.db', '--store', DATABASE], {}, 'this command works only on a file'],
  ])('%j', async (words, env, fact) => {
    const ended = await place.vault(words, { VAULT_FILE: 'v.db', VAULT_API_KEY: key, ...env });
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toContain(`vault: ${fact}`);
    expect(ended.stderr).not.toContain(SECRET);
  });

  it.each([
    [['backup', 'o.db'], 'back up a database with `pg_dump --format=directory --schema=vault`'],
    [['compact'], 'stop the daemons, then return the free space of a database with `vacuumdb --full`'],
    [['dev', 'reset', '--yes'], 'make a new vault in another schema with `vault init --store`'],
  ])('%j on a database names the program of the database', async (words, hint) => {
    const ended = await place.vault([...words, '--store', DATABASE]);
    expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^vault: this command works only on a file/);
    expect(ended.stderr).toContain(`\nhint: ${hint}`);
  });

  it.each(['VAULT_YES', 'VAULT_DRY_RUN', 'VAULT_CURL'])('no variable sets the flag of one call: %s', async (name) => {
    const ended = await place.vault('dev reset --file v.db', { [name]: '1' });
    expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('hint: pass --yes to confirm') });
  });

  it('-q wins over VAULT_OUTPUT', async () => {
    const ids = await place.vault('apps list -q', { VAULT_OUTPUT: 'csv', VAULT_FILE: 'v.db', VAULT_API_KEY: key });
    expect(ids.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  });
});
