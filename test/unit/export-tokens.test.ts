import { expect, it } from 'vitest';
import { pageExport } from '../../src/cli/commands/transfer/export.ts';
import { factsOf } from '../../src/cli/commands/transfer/import-row.ts';
import { importRows } from '../../src/cli/commands/transfer/import-rows.ts';
import type { Client } from '../../src/contract/call.ts';
import { stringifyJson } from '../../src/core/json/stringify.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { type ExportView, openTokenExport } from '../../src/vault/open-token-export.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { TAMPER_EDITS } from '../checks/tamper-edits.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { CREDENTIAL, callVault, fileVault, withAdmin, withVault } from './vault-admin-fixture.ts';

const CARD = { number: '4242424242424242', expiration_month: 7, expiration_year: 2031 };

/** Tokens that cover every member and option. */
const BODIES: readonly string[] = [
  JSON.stringify({ id: 'card-default', type: 'card', data: CARD, containers: ['/pci/high/a/', '/b/'] }),
  JSON.stringify({ id: 'card-own', type: 'card', data: CARD, mask: { n: '{{ data.number | last4 }}', x: [1, null] } }),
  '{"id":"numbers","type":"token","data":{"__proto__":1,"n":1.10,"big":9007199254740993,"s":"\\ud800"}}',
  JSON.stringify({ id: 'ssn', type: 'social_security_number', data: '123-45-6789', search_indexes: ['{{ data }}'] }),
  JSON.stringify({ id: 'ssn-none', type: 'social_security_number', data: '123-45-6789', search_indexes: [] }),
  JSON.stringify({ id: 'print', type: 'token', data: { a: 'x' }, fingerprint_expression: '{{ data.a }}' }),
  JSON.stringify({
    id: 'dated',
    type: 'token',
    data: 1,
    metadata: { k: 'v' },
    expires_at: '2099-01-01T00:00:00+02:00',
  }),
];

const asClient = (vault: Vault): Client => ({ call: (call) => vault.dispatch(call), close: async () => undefined });

async function exported(file: string, view: ExportView = 'full'): Promise<readonly string[]> {
  const opened = await openTokenExport({ file, credential: CREDENTIAL, tenantId: undefined, view });
  const lines: string[] = [];
  try {
    for await (const rows of opened.pages()) lines.push(...rows.map(stringifyJson));
  } finally {
    await opened.close();
  }
  return lines;
}

async function imported(file: string, apiKey: string, bodies: readonly string[]) {
  const rows = async function* () {
    for (const [at, body] of bodies.entries()) yield { line: at + 1, body };
  };
  const { counts } = await withVault(file, (vault) =>
    importRows(rows(), {
      client: asClient(vault),
      apiKey,
      refused: async (error) => expect(error).toBeUndefined(),
      progress: () => undefined,
    }),
  );
  return counts;
}

it('an export contains all that recreates a token in another vault, byte for byte', async () => {
  const [from, to] = [await fileVault(3), await fileVault(0)];
  await imported(from.file, from.apiKey, BODIES);
  await withVault(from.file, async (vault) => {
    await callVault(vault, from.apiKey, 'updateToken', { id: 'card-default', body: { mask: null } });
    await callVault(vault, from.apiKey, 'deleteToken', { id: 'token-2' });
  });
  const lines = await exported(from.file);
  expect(lines.map((line) => factsOf(line).id)).toEqual(
    ['token-0', 'token-1', ...BODIES.map((body) => JSON.parse(body).id)].sort(),
  );
  expect(lines.join()).toContain('{"__proto__":1,"n":1.10,"big":9007199254740993,"s":"\\ud800"}');

  expect(await imported(to.file, to.apiKey, lines)).toEqual({ created: lines.length, skipped: 0, failed: 0 });
  expect(await exported(to.file)).toEqual(lines);
  expect(await exported(to.file, 'masked')).toEqual(await exported(from.file, 'masked'));
  expect(await imported(to.file, to.apiKey, lines)).toEqual({ created: 0, skipped: lines.length, failed: 0 });
  const [one, two] = await Promise.all(
    [from, to].map(({ file, apiKey }) =>
      withVault(file, async (vault) => (await callVault(vault, apiKey, 'getToken', { id: 'numbers' })).body['data']),
    ),
  );
  expect(two).toEqual(one);
});

it('an import keeps expressions that fail on the data, without results', async () => {
  const [from, to] = [await fileVault(0), await fileVault(0)];
  const failing = { mask: { n: '{{ data.n | plus: 1 }}' }, fingerprint_expression: '{{ data.none }}' };
  const body = { id: 'failing', type: 'token', data: { n: 'x' }, search_indexes: ['{{ data.none }}', '{{ data.n }}'] };
  await withVault(from.file, async (vault) => {
    await callVault(vault, from.apiKey, 'createToken', { body: { id: 'kept', type: 'token', data: 1 } });
    const without_result = ['mask', 'fingerprint_expression', 'search_indexes.0'];
    const made = await callVault(vault, from.apiKey, 'createToken', { body: { ...body, ...failing, without_result } });
    expect([made.status, made.body]).toMatchObject([201, failing]);
    expect(made.body['data']).toBeUndefined();
    const wrong = { type: 'token', data: 1, mask: '{{ data | nope }}', without_result: ['mask'] };
    expect((await callVault(vault, from.apiKey, 'createToken', { body: wrong })).status).toBe(400);
  });
  const lines = await exported(from.file);
  expect(lines[0]).toContain('"without_result":["fingerprint_expression","mask","search_indexes.0"]');
  expect(await imported(to.file, to.apiKey, lines)).toEqual({ created: 2, skipped: 0, failed: 0 });
  expect(await exported(to.file)).toEqual(lines);
});

it('an export for sharing shows masked forms without data, and leaves an entry in the audit', async () => {
  const { file, apiKey, tenantId } = await fileVault(0);
  await imported(file, apiKey, BODIES);
  const lines = await exported(file, 'masked');
  expect(lines).toHaveLength(BODIES.length);
  for (const secret of ['4242424242424242', '123-45', 'proto', '"data"', '"mask"']) {
    expect(lines.join('\n').includes(secret), secret).toBe(false);
  }
  expect(lines.find((line) => line.includes('card-default'))).toContain('"masked":{"number":"XXXXXXXXXXXX4242"');
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  const [placed] = await admin.lastEvents(() => true, 1);
  expect(placed?.event).toMatchObject({ action: 'exportTokens', tenant_id: tenantId, entities: ['masked'] });
  await admin.close();
});

it.each([
  'the list of blind indexes of another row',
  'a set of containers left out',
  'a blind index left out, from row and index',
])('an export fails on %s', async (edit) => {
  const { file } = await fileVault(3);
  await tamperFile(file, (connection) => connection.exec(TAMPER_EDITS[edit]?.[0] ?? ''));
  for (const view of ['full', 'masked'] as const) {
    await expect(exported(file, view)).rejects.toMatchObject({ code: 'integrity_failure' });
  }
});

it('an export requires --tenant when there are several, and fails on a token that does not open', async () => {
  const { file, tenantId } = await fileVault(2);
  const other = await withVault(file, (vault) => vault.createTenant('other'));
  await expect(exported(file)).rejects.toMatchObject({ code: 'usage' });
  const open = (id: string) => openTokenExport({ file, credential: CREDENTIAL, tenantId: id, view: 'full' });
  await expect(open('00000000-0000-4000-8000-000000000000')).rejects.toMatchObject({ code: 'not_found' });
  const none = await open(other.tenant.id);
  expect((await none.pages().next()).done).toBe(true);
  await none.close();
  await tamperFile(file, (connection) => connection.exec("UPDATE token SET revision = 7 WHERE id = 'token-0'"));
  const damaged = await open(tenantId);
  await expect(damaged.pages().next()).rejects.toMatchObject({ code: 'integrity_failure' });
  await damaged.close();
});

it('an export continues through a rotation of the keys', async () => {
  const { file } = await fileVault(450);
  const opened = await openTokenExport({ file, credential: CREDENTIAL, tenantId: undefined, view: 'full' });
  const pages = opened.pages();
  let rows = (await pages.next()).value?.length ?? 0;
  await withAdmin(file, (admin) => admin.rotate({ indexes: true, master: true }));
  for await (const page of pages) rows += page.length;
  expect(rows).toBe(450);
  await opened.close();
});

it('an export of the file contains unchanged tokens once, and changed ones before or after the change', async () => {
  const { file, apiKey } = await fileVault(500);
  const opened = await openTokenExport({ file, credential: CREDENTIAL, tenantId: undefined, view: 'full' });
  const pages = opened.pages();
  const rows = [...((await pages.next()).value ?? [])];
  const met = String(rows.at(-1)?.['id']);
  const patched = { before: String(rows[0]?.['id']), behind: 'token-98' };
  expect(patched.behind > met && 'token-99' > met && 'token-97' > met).toBe(true);
  await withVault(file, async (vault) => {
    for (const id of Object.values(patched))
      await callVault(vault, apiKey, 'updateToken', { id, body: { data: 'new' } });
    await callVault(vault, apiKey, 'deleteToken', { id: 'token-99' });
    for (const id of ['aaa-before', 'zzz-behind']) {
      await callVault(vault, apiKey, 'createToken', { body: { id, type: 'token', data: 1 } });
    }
  });
  for await (const page of pages) rows.push(...page);
  await opened.close();
  const data = new Map(rows.map((row) => [row['id'], stringifyJson(row['data'] ?? null)]));
  expect(data.size).toBe(rows.length);
  const whole = Array.from({ length: 500 }, (_, n) => n).filter((n) => n !== 99);
  for (const n of whole)
    if (!Object.values(patched).includes(`token-${n}`)) expect(data.get(`token-${n}`)).toBe(`${n}`);
  // A page keeps the state in which it was read; later pages show later changes.
  expect(data.get(patched.before)).not.toBe('"new"');
  expect(data.get(patched.behind)).toBe('"new"');
  expect([data.has('token-99'), data.has('aaa-before'), data.has('zzz-behind')]).toEqual([false, false, true]);
});

it('an export through the API contains every token once, whatever is created and deleted meanwhile', async () => {
  const { file, apiKey } = await fileVault(260);
  await withVault(file, async (vault) => {
    let calls = 0;
    const client: Client = {
      call: async (call) => {
        calls += 1;
        if (calls === 3) {
          await callVault(vault, apiKey, 'createToken', { body: { id: 'token-new', type: 'token', data: 1 } });
          for (const n of [259, 258, 257]) await callVault(vault, apiKey, 'deleteToken', { id: `token-${n}` });
        }
        return vault.dispatch(call);
      },
      close: async () => undefined,
    };
    const ids: unknown[] = [];
    for await (const rows of pageExport(client, apiKey, () => undefined)) ids.push(...rows.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    for (let n = 0; n < 257; n += 1) expect(ids).toContain(`token-${n}`);
  });
});

it('an export through the API fails with the reply that the vault sends instead of a page', async () => {
  const { file } = await fileVault(0);
  await withVault(file, async (vault) => {
    const refused = pageExport(asClient(vault), 'no key', () => undefined).next();
    await expect(refused).rejects.toMatchObject({ name: 'RefusedReply', reply: { status: 401 } });
  });
});
