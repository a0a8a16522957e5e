import { expect, it } from 'vitest';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { CREDENTIAL, doctor, fileVault } from './vault-admin-fixture.ts';

const LAST = '(SELECT max(sequence) FROM audit)';
const COPY = `SELECT at, sealed, link FROM audit WHERE sequence = ${LAST}`;
/** The largest power of two of a column. No double is its neighbour. */
const FAR = '4611686018427387904';

/** An edit, whether `verify` and a list of the last entries accept it, and the finding of doctor. */
const ROWS: readonly (readonly [edit: string, isAccepted: boolean, finding: RegExp])[] = [
  ['SELECT 1', true, /^$/],
  [`INSERT INTO audit SELECT ${FAR}, * FROM (${COPY})`, false, /is missing/],
  [`UPDATE audit SET sequence = ${FAR} WHERE sequence = ${LAST}`, false, /is missing/],
  [`UPDATE audit SET sequence = sequence + 1 WHERE sequence = ${LAST}`, false, /is missing/],
  [`INSERT INTO audit SELECT -1, * FROM (${COPY})`, true, /a number that the vault never assigns/],
];

it.each(ROWS)('%s: verify accepts it: %s', async (edit, isAccepted, finding) => {
  const { file } = await fileVault(1);
  await tamperFile(file, (connection) => void connection.exec(edit));
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  try {
    expect((await admin.verifyAudit()).ok).toBe(isAccepted);
    const listed = admin
      .lastEvents(() => true, 9)
      .then(
        (events) => events.length > 2,
        () => false,
      );
    expect(await listed).toBe(isAccepted);
  } finally {
    await admin.close();
  }
  const { findings } = await doctor(file);
  expect(findings.map(({ table, id, what }) => `${table} ${id} ${what}`).join()).toMatch(finding);
});
