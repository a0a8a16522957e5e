import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { keepRows, putBack } from '../checks/put-back.ts';
import { HAS_TERMINALS, makePlace, type Place } from './cli-fixture.ts';

let place: Place;
let env: Readonly<Record<string, string>>;

/** Makes a vault whose tenant was put back. */
beforeEach(async () => {
  place = makePlace(onTestFinished);
  const key = await place.init('v');
  const file = place.inside('v.db');
  env = { VAULT_FILE: 'v.db', VAULT_API_KEY: key };
  const before = await keepRows(file);
  expect(await place.vault('tenant update --name new', env)).toMatchObject({ exitCode: 0 });
  await putBack(file, before, ['tenant']);
  expect(await place.vault('tenant get', env)).toMatchObject({ exitCode: 9 });
});

const FINDING = 'differs from its last change in the audit: an older row was restored';

async function expectAccepted(): Promise<void> {
  expect(await place.vault('tenant get --field name', env)).toMatchObject({ exitCode: 0, stdout: 'default\n' });
  expect(await place.vault('doctor --field ok', env)).toMatchObject({ stdout: 'true\n' });
  const listed = await place.vault('audit list --operation acceptTenant --field data', env);
  // The sums of the records are never shown.
  expect(JSON.parse(listed.stdout)).toMatchObject([{ operation: 'acceptTenant', status: 200, entity_type: 'tenant' }]);
  const again = await place.vault('tenant accept --yes', env);
  expect(again).toMatchObject({ exitCode: 6, stderr: expect.stringContaining('all records of the tenant match') });
}

describe('vault tenant accept', () => {
  it('shows what differs and changes nothing without a confirmation', async () => {
    const asked = await place.vault('tenant accept', env);
    expect(asked).toMatchObject({ exitCode: 2, stdout: '' });
    expect(asked.stderr).toMatch(
      new RegExp(`^vault: tenant \\S+ differs from the audit:\nvault: {3}tenant \\S+ ${FINDING}\n`),
    );
    expect(asked.stderr).toMatch(
      /vault: confirmation required\nhint: pass --yes to confirm. From now on, the vault accepts the records of the tenant default \([\da-f-]{36}\) despite 1 difference\./,
    );
    expect(await place.vault('tenant get', env)).toMatchObject({ exitCode: 9 });
    const listed = await place.vault('audit list --operation acceptTenant --field data', { VAULT_FILE: 'v.db' });
    expect(listed).toMatchObject({ stdout: '[]\n' });
  });

  it('writes the entry with --yes, and prints what it accepted', async () => {
    const accepted = await place.vault('tenant accept --yes', env);
    expect(accepted).toMatchObject({ exitCode: 0, stderr: '' });
    const { tenant_id, ...rest } = JSON.parse(accepted.stdout);
    expect(rest).toEqual({ accepted: [{ table: 'tenant', id: tenant_id, what: FINDING }] });
    await expectAccepted();
  });

  it.runIf(HAS_TERMINALS)('asks on a terminal', async () => {
    const ask = (answer: string) => place.onTerminal('tenant accept', [['Continue?', answer]], env);
    const refused = await ask('\r');
    expect(refused).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('nothing was done') });
    expect(refused.stdout).toMatch(/the tenant default \([\da-f]{8}-/);
    expect(await ask('y\r')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(FINDING) });
    await expectAccepted();
  });
});
