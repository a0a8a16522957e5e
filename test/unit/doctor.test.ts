import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { directClient } from '../../src/client/direct.ts';
import { DEFAULT_LIMITS, MAX_DEPTH } from '../../src/contract/limits.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { Problem } from '../../src/core/problem.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openFileVault, type Vault } from '../../src/vault/vault.ts';
import { LAUNDERINGS, launder } from '../checks/launder.ts';
import { createCaller, type Perform } from '../checks/perform.ts';
import { insertRow, keepRows, putBack, ROLLBACKS } from '../checks/put-back.ts';
import { edits, TAMPER_EDITS, type TamperEdit } from '../checks/tamper-edits.ts';
import { alterUntyped, tamperFile } from '../checks/tamper-file.ts';
import { FILE_LOCATIONS } from '../checks/tamper-locations.ts';
import {
  CREDENTIAL,
  callOnce,
  callVault,
  doctor,
  type FileVault,
  fileVault,
  prune,
  withAdmin,
  withVault,
} from './vault-admin-fixture.ts';

/** Vaults to alter. */
const MADE = {
  plain: () => fileVault(4),
  /** With the stored replies of a token, then of an application. */
  replied: async () => {
    const vault = await fileVault(0);
    const application = { name: 'b', type: 'private', permissions: ['token:read'] };
    await withVault(vault.file, async (one) => {
      const again = { idempotencyKey: 'again' };
      await callVault(one, vault.apiKey, 'createToken', { body: { type: 'token', data: 1 }, ...again });
      await callVault(one, vault.management, 'createApplication', { body: application, ...again });
    });
    return vault;
  },
  /** With an entry behind the end of the log index. */
  indexed: async () => {
    const vault = await fileVault(3);
    await withVault(vault.file, (one) => one.sweep());
    await change(vault);
    return vault;
  },
  pruned: async () => {
    const vault = await fileVault(3);
    await prune(vault);
    await change(vault);
    return vault;
  },
} as const satisfies Readonly<Record<string, () => Promise<FileVault>>>;

const change = ({ file, apiKey }: FileVault) =>
  callOnce({ file }, apiKey, 'updateToken', { id: 'token-0', body: { data: 'later' } });

interface Alteration {
  readonly edit: TamperEdit;
  readonly made: keyof typeof MADE;
  /** Whether the columns have no types during the edit. Calls then fail only with problems. */
  readonly isUntyped?: boolean;
  /** Whether `verify` accepts the audit. */
  readonly verifies?: boolean;
  /** Whether a list of the last entries accepts the audit. */
  readonly lists?: boolean;
}

const altered = (
  all: Readonly<Record<string, TamperEdit>>,
  more: Partial<Alteration> = {},
): Readonly<Record<string, Alteration>> =>
  Object.fromEntries(Object.entries(all).map(([name, edit]) => [name, { made: 'plain', edit, ...more }]));

const REPLY = 'reply = (SELECT min(reply) FROM reply)';
const BASE = '(SELECT min(sequence) FROM audit)';
const LAST = '(SELECT max(sequence) FROM audit)';
const COPY = `SELECT at, sealed, link FROM audit WHERE sequence = ${LAST}`;

/** The largest power of two that a column holds. No double equals the next integer. */
const FAR = '4611686018427387904';

const REPLIES = {
  ...edits('reply', '', /cannot be decrypted/, {
    'a reply of another application': `UPDATE reply SET application_id = randomblob(16) WHERE ${REPLY}`,
    'a reply of another key': `UPDATE reply SET key_hash = randomblob(32) WHERE ${REPLY}`,
    'a reply of another request': `UPDATE reply SET request_hash = randomblob(32) WHERE ${REPLY}`,
    'a reply of another time': `UPDATE reply SET created_at = created_at + 1 WHERE ${REPLY}`,
    'a reply under another data key': `UPDATE reply SET key_id = key_id + 1 WHERE ${REPLY}`,
    'another reply': 'UPDATE reply SET sealed = (SELECT sealed FROM reply ORDER BY reply DESC)',
    'nothing sealed': `UPDATE reply SET sealed = x'' WHERE ${REPLY}`,
    'a truncated reply': `UPDATE reply SET sealed = CAST(substr(sealed, 2) AS BLOB) WHERE ${REPLY}`,
  }),
  ...edits('reply', '', /clear columns/, {
    'a reply of an invalid time': `UPDATE reply SET created_at = -1 WHERE ${REPLY}`,
  }),
  ...edits('reply', '', /does not exist/, {
    'a reply of no tenant': `PRAGMA foreign_keys = OFF; UPDATE reply SET tenant = 9 WHERE ${REPLY}`,
  }),
};

const INDEX = {
  ...edits('audit', '4', /has no row in the index of the audit/, {
    'a row of the log index removed': "DELETE FROM audit_index WHERE sequence = 4 AND blind <> x''",
  }),
  ...edits('audit_index', '', /without an entry/, {
    'a row of the log index added': 'INSERT INTO audit_index VALUES (zeroblob(16), 4)',
  }),
  ...edits('audit_index', '', /beyond its own end/, {
    'a row added behind the log index': 'INSERT INTO audit_index SELECT zeroblob(16), max(sequence) FROM audit',
  }),
  ...edits('audit_index', '', /beyond the end of the audit/, {
    'a log index longer than the log': "UPDATE audit_index SET sequence = sequence + 999 WHERE blind = x''",
  }),
};

const ROW_0 = edits('audit', '0', /^was altered$/, {
  'another time of the row 0': 'UPDATE audit SET at = 1 WHERE sequence = 0',
  'other bytes of the row 0': "UPDATE audit SET sealed = x'00' WHERE sequence = 0",
  'another link of the row 0': "UPDATE audit SET link = x'00' WHERE sequence = 0",
});

const NUMBERS = edits('audit', '', /is missing/, {
  'a copy of the last row far away': `INSERT INTO audit SELECT ${FAR}, * FROM (${COPY})`,
  'the last row far away': `UPDATE audit SET sequence = ${FAR} WHERE sequence = ${LAST}`,
  'a number left out': `UPDATE audit SET sequence = sequence + 1 WHERE sequence = ${LAST}`,
});

const NEGATIVE = edits('audit', '-1', /a number that the vault never assigns/, {
  'a row -1': `INSERT INTO audit SELECT -1, * FROM (${COPY})`,
});

const BASES = {
  ...edits('', '', /is not the base/, {
    'a removed base': `DELETE FROM audit WHERE sequence = ${BASE}`,
    'a base with another time': `UPDATE audit SET at = at + 1 WHERE sequence = ${BASE}`,
    'a base with another link': `UPDATE audit SET link = zeroblob(16) WHERE sequence = ${BASE}`,
    'a base at another place': `UPDATE audit SET sequence = sequence - 1 WHERE sequence = ${BASE}`,
    'an entry as the base': `UPDATE audit SET sealed =
      (SELECT sealed FROM audit WHERE sequence = ${BASE} + 1) WHERE sequence = ${BASE}`,
  }),
  ...edits('', '', /cannot be decrypted|was altered/, {
    'a base as an entry': `UPDATE audit SET sealed =
      (SELECT sealed FROM audit WHERE sequence = ${BASE}) WHERE sequence = ${BASE} + 1`,
  }),
  ...edits('', '', /is missing/, {
    'a cut behind the base': `DELETE FROM audit WHERE sequence = ${BASE} + 1`,
    'a base of no entry': `INSERT INTO audit VALUES (0, 0, x'', zeroblob(16))`,
  }),
};

const PRUNED_INDEX = edits('', '', /names audit rows that were removed/, {
  'a row of the log index put back': "INSERT INTO audit_index VALUES (x'00112233445566778899aabbccddeeff', 2)",
});

/** A value of another type than its column declares. */
const FOREIGN = edits(
  '',
  '',
  /./,
  Object.fromEntries(
    [
      ['token', 'id', '1'],
      ['token', 'created_at', "'x'"],
      ['token', 'set_number', "'x'"],
      ['token', 'blinds', '1'],
      ['token', 'clear', 'NULL'],
      ['token', 'presented', '1.5'],
      ['token', 'full', "'x'"],
      ['application', 'details', '1'],
      ['application', 'key_version', "'x'"],
      ['application_key', 'hash', 'NULL'],
      ['application_key', 'seal', '1'],
      ['tenant', 'details', 'NULL'],
      ['audit', 'at', 'NULL'],
      ['audit', 'sealed', 'NULL'],
      ['audit', 'link', '1'],
    ].map(([table, column, value]) => [
      `${value} in ${table}.${column}`,
      `UPDATE ${table} SET ${column} = ${value} WHERE rowid = (SELECT max(rowid) FROM ${table})`,
    ]),
  ),
);

const ODD = edits('', '', /./, {
  'an audit with a single row before its first place':
    "DELETE FROM audit; INSERT INTO audit VALUES (0, 0, x'00', NULL)",
  // A valid number, but beyond the range of a Date.
  'no time in counter.at': 'UPDATE counter SET at = 9000000000000000',
  'no time in tenant_key.created_at': 'UPDATE tenant_key SET created_at = 9000000000000000',
});

/** All ways to alter a file without its key, and the finding of doctor. */
const ALTERED = {
  ...altered(TAMPER_EDITS),
  ...altered(REPLIES, { made: 'replied' }),
  ...altered(INDEX, { made: 'indexed' }),
  ...altered(ROW_0),
  ...altered(NUMBERS, { verifies: false, lists: false }),
  ...altered(NEGATIVE, { verifies: true, lists: true }),
  ...altered(BASES, { made: 'pruned', verifies: false }),
  ...altered(PRUNED_INDEX, { made: 'pruned', verifies: true }),
  ...altered({ ...FOREIGN, ...ODD }, { isUntyped: true }),
};

/** Reads everything. Resolves to the errors that are no problems. */
async function unexpectedErrors({ file, apiKey, management }: FileVault): Promise<readonly unknown[]> {
  const unexpected: unknown[] = [];
  const reportError = (error: unknown) => {
    if (!(error instanceof Problem)) unexpected.push(error);
  };
  const vault = await openFileVault({ file, credential: CREDENTIAL, reportError });
  await callVault(vault, apiKey, 'listTokens');
  await callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: 1 } });
  for (const operation of ['listApplications', 'getTenant', 'getUsageReport'] as const)
    await callVault(vault, management, operation);
  await vault.createTenant('another').catch(reportError);
  await vault.close().catch(reportError);
  await withAdmin(file, (admin) => admin.status()).catch(reportError);
  return unexpected;
}

/** What the check of a running vault finds, by the names of `ROLLBACKS`. */
const RUNNING: Readonly<Record<string, RegExp>> = {
  'a token as it was before a change': /^token token-1 .* an older row was restored$/,
  'a token that was deleted': /^token token-1 .* the row was restored$/,
  'an application as it was before its key was regenerated': /^application .* an older row was restored$/,
  'an API key that was deleted': /^application_key .* the row was restored$/,
  'an application that was deleted': /^application .* the row was restored$/,
  'the tenant as it was before a change': /^tenant .* an older row was restored$/,
  'the state before a token was made': /^token .* was removed outside the vault$/,
};

describe('vault doctor', () => {
  it('finds a sound vault sound, open elsewhere or not', async () => {
    const { file } = await fileVault(5);
    const sound = {
      ok: true,
      checked: { tenants: 1, applications: 2, tokens: 5, audit_entries: 10 },
      findings: [],
      format: 1,
      notices: [],
    };
    expect(await doctor(file)).toEqual(sound);
    await withVault(file, async () => expect(await doctor(file)).toEqual(sound));
  });

  it.each(Object.entries(ALTERED))('finds %s', async (_what, { edit, made, isUntyped, verifies, lists }) => {
    const [sql, table, id, what] = edit;
    const vault = await MADE[made]();
    const { file } = vault;
    if (made !== 'plain') expect(await doctor(file)).toMatchObject({ ok: true, findings: [] });
    await (isUntyped ? alterUntyped(file, sql) : tamperFile(file, (connection) => void connection.exec(sql)));
    const { ok, findings } = await doctor(file);
    expect(ok).toBe(false);
    const text = expect.any(String);
    expect(findings).toContainEqual({ table: table || text, id: id || text, what: expect.stringMatching(what) });
    if (verifies !== undefined)
      expect(await withAdmin(file, (admin) => admin.verifyAudit())).toMatchObject({ ok: verifies });
    const last = () => withAdmin(file, (admin) => admin.lastEvents(() => true, 9)).catch(() => []);
    if (lists !== undefined) expect((await last()).length > 2).toBe(lists);
    if (isUntyped) expect(await unexpectedErrors(vault)).toEqual([]);
  });

  it.each(Object.entries(ROLLBACKS))('finds %s, put back', async (name, [act, tables, table, what]) => {
    const { file, ...keys } = await fileVault(3);
    const before = await keepRows(file);
    await withVault(file, (vault) =>
      act(
        createCaller(() => directClient(vault)),
        keys,
      ),
    );
    expect(await doctor(file)).toMatchObject({ ok: true });
    await putBack(file, before, tables);
    const { findings } = await doctor(file);
    expect(findings).not.toEqual([]);
    for (const finding of findings) {
      expect(finding).toEqual({ table, id: expect.any(String), what: expect.stringMatching(what) });
    }
    await withVault(file, async (vault) => {
      const found = await vault.check();
      const says = RUNNING[name];
      if (says !== undefined) expect(found).toEqual([expect.stringMatching(says)]);
      for (const one of found) expect(one).toMatch(RegExp(`^${table} .* (restored|outside the vault|cut)$`));
      const count = found.length === 1 ? '1 finding' : '2 findings';
      expect(await vault.notices()).toEqual([`the vault has ${count}: run \`vault doctor\``]);
    });
  });

  it.each(Object.entries(LAUNDERINGS))('the calls themselves find %s, put back', async (_what, laundering) => {
    const vault = await fileVault(3);
    expect(
      await launder({ ...vault, locations: FILE_LOCATIONS, name: vault.file, credential: CREDENTIAL }, laundering),
    ).toEqual([]);
  });

  it('finds damaged and missing pages', async () => {
    const { file } = await fileVault(200);
    const bytes = readFileSync(file);
    // The number of free pages, which no query reads.
    bytes.writeUInt32BE(3, 36);
    writeFileSync(file, bytes);
    const freelist = { table: 'file', id: '', what: expect.stringContaining('Freelist') };
    expect(await doctor(file)).toMatchObject({ ok: false, findings: [freelist] });
    bytes.fill(0xff, 30 * 4096, 34 * 4096);
    writeFileSync(file, bytes);
    expect((await doctor(file)).ok).toBe(false);
    truncateSync(file, 20 * 4096);
    expect((await doctor(file)).ok).toBe(false);
  });

  it('finds older rows that a sweep removed, or the end of their creator left', async () => {
    const { file, management } = await fileVault(0);
    const wall = Date.now();
    const perform = (at: number, work: (vault: Vault, perform: Perform) => Promise<void>) => {
      const times = { wall: () => at, running: () => at };
      return openFileVault({ file, credential: CREDENTIAL, times }).then((vault) =>
        work(
          vault,
          createCaller(() => directClient(vault)),
        ).finally(vault.close),
      );
    };
    const permissions = ['token:create', 'token:read', 'token:update'];
    const creator = { name: 'creator', type: 'private', permissions, can_create_expiring_applications: true };
    const child = { name: 'child', type: 'expiring', permissions: ['token:read'] };
    const ids = { creator: '', child: '' };
    let before: Awaited<ReturnType<typeof keepRows>> = [];
    await perform(wall, async (_vault, call) => {
      const { body } = await call(management, 'createApplication', { body: creator });
      ids.creator = String(body['id']);
      ids.child = String((await call(String(body['key']), 'createApplication', { body: child })).body['id']);
      const expires_at = new Date(wall + 3_600_000).toISOString();
      await call(String(body['key']), 'createToken', { body: { type: 'token', id: 'brief', data: 1, expires_at } });
      before = await keepRows(file);
      await call(String(body['key']), 'updateToken', { id: 'brief', body: { data: 2 } });
      await call(management, 'updateApplication', { id: ids.child, body: { ...child, name: 'renamed' } });
    });
    await putBack(file, before, ['token', 'token_index', 'container_set', 'tombstone', 'application']);
    await perform(wall, async (_vault, call) => {
      expect((await call(management, 'deleteApplication', { id: ids.creator })).status).toBe(204);
    });
    await perform(wall + 7_200_000, async (vault) => expect(await vault.sweep()).toBe(1));
    const of = (table: string, id: string, what: string) => ({ table, id, what: expect.stringContaining(what) });
    expect((await doctor(file)).findings).toEqual([
      of('application', ids.child, 'was created by an application that no longer exists'),
      of('application', ids.child, 'was created with an API key that no longer exists'),
      of('token', 'brief', 'was removed at a revision that is not its last one'),
      of('application', ids.child, 'an older row was restored'),
    ]);
  });

  it('reports a slot that 32 zero bytes open', async () => {
    const { file } = await fileVault(1);
    const zeros = { kind: 'key_file', key: new Uint8Array(32) } as const;
    await withAdmin(file, (admin) => admin.addSlot(zeros, { allowWeak: false }));
    const reported = [expect.stringMatching(/^key slot 1 opens with 32 zero bytes/)];
    expect(await doctor(file)).toMatchObject({ ok: true, notices: reported });
    expect(await checkVaultFile({ file, credential: zeros })).toMatchObject({ ok: true, notices: reported });
  });

  it('finds a removed slot that was put back with its header', async () => {
    const { file } = await fileVault(1);
    const other = { kind: 'key_file', key: new Uint8Array(32).fill(9) } as const;
    const { slot } = await withAdmin(file, (admin) => admin.addSlot(other, { allowWeak: false }));
    const before = await keepRows(file);
    await withAdmin(file, (admin) => admin.removeSlot(slot));
    expect(await doctor(file)).toMatchObject({ ok: true });
    await putBack(file, before, ['header', 'slot']);
    const refused = { code: 'integrity_failure', detail: expect.stringContaining('an older one was restored') };
    await withAdmin(file, async (admin) => {
      const events = () => admin.events().next();
      const reads = { ...admin, events, lastEvents: () => admin.lastEvents(() => true, 9) };
      for (const name of ['slots', 'status', 'lastEvents', 'events', 'verifyAudit'] as const) {
        await expect(reads[name](), name).rejects.toMatchObject(refused);
      }
    });
    expect((await doctor(file)).findings).toEqual([
      { table: 'header', id: expect.any(String), what: expect.stringContaining('was restored') },
    ]);
  });

  it('finds a destroyed tenant key that was put back', async () => {
    const { file, tenantId } = await fileVault(1);
    const before = await keepRows(file);
    await withAdmin(file, (admin) => admin.rotate({ master: false, indexes: false }));
    expect(await doctor(file)).toMatchObject({ ok: true });
    const [row] = before.find(({ table }) => table === 'tenant_key')?.rows ?? [];
    await tamperFile(file, (connection) => insertRow(connection, 'tenant_key', { ...row }));
    expect((await doctor(file)).findings).toContainEqual({
      table: 'tenant_key',
      id: '1',
      what: expect.stringContaining('was removed according to the audit'),
    });
    expect(tenantId).toMatch(/-/);
  });

  it('finds a token at the maximum depth sound after a patch and a rotation', async () => {
    const { file, apiKey } = await fileVault(0);
    const nested = (depth: number, innermost: unknown) =>
      Array.from({ length: depth }).reduce((inside) => [inside], innermost);
    // The body adds one level. The filler adds the steps that the JSONPath needs at this depth.
    const data = nested(MAX_DEPTH - 2, { deep: 1, filler: 'x'.repeat(50_000) });
    const mask = nested(MAX_DEPTH - 1, '{{ data }}');
    const limits = { ...DEFAULT_LIMITS, depth: MAX_DEPTH };
    const vault = await openFileVault({ file, credential: CREDENTIAL, limits });
    try {
      const body = { id: 'deep', type: 'token', data, mask, search_indexes: ["{{ data | json: '$..deep' }}"] };
      expect(await callVault(vault, apiKey, 'createToken', { body })).toMatchObject({ status: 201 });
      const patched = await callVault(vault, apiKey, 'updateToken', { id: 'deep', body: { metadata: { a: 'b' } } });
      expect(patched).toMatchObject({ status: 200, body: { data } });
      expect(parseJson(JSON.stringify(nested(MAX_DEPTH, data)))).toEqual(nested(MAX_DEPTH, data));
    } finally {
      await vault.close();
    }
    expect(await doctor(file)).toMatchObject({ ok: true });
    await withAdmin(file, (admin) => admin.rotate({ master: false, indexes: true }));
    expect(await doctor(file)).toMatchObject({ ok: true, checked: { tokens: 1 } });
  });

  it('reports nothing about changes during its run', async () => {
    const { file, apiKey } = await fileVault(300);
    await withVault(file, async (vault) => {
      let running = true;
      const writers = [0, 1, 2].map(async (writer) => {
        for (let n = writer; running; n += 3) {
          await callVault(vault, apiKey, 'updateToken', { id: `token-${n % 300}`, body: { data: n } });
          await callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: n } });
          if (n % 5 === 0) await callVault(vault, apiKey, 'deleteToken', { id: `token-${n % 300}` });
        }
      });
      const reports = [];
      for (let n = 0; n < 3; n += 1) reports.push(await doctor(file));
      running = false;
      await Promise.all(writers);
      for (const { findings } of reports) expect(findings).toEqual([]);
    });
  });
});
