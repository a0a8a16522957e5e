import { dirname } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { createCaller, type PerformParts } from './perform.ts';
import { type Act, type ActingKeys, onApplication, privateApplication, TOKENS } from './put-back.ts';
import { codeOf } from './tamper-reads.ts';
import type { TamperVault } from './tamper-vault.ts';
import { withVault } from './vault-file.ts';

const PATCH = ['apiKey', 'updateToken', { id: 'token-1', body: { data: 'ordinary' } }] as const;
const DELETE = ['apiKey', 'deleteToken', { id: 'token-1' }] as const;
const PUT = ['management', 'updateApplication', { body: { name: 'x', permissions: ['token:read'] } }] as const;
const USE = ['apiKey', 'listTokens', {}] as const;

/** A call with one of the keys. An application operation without an id acts on the private application. */
type Ordinary = readonly [key: keyof ActingKeys, operation: OperationId, parts: PerformParts];

/** A change whose older rows are restored, and ordinary calls that must not make these rows look valid again. */
interface Laundering {
  readonly act: Act;
  readonly tables: readonly string[];
  readonly calls: readonly Ordinary[];
  /** Matches the findings of `vault doctor` after the rows were restored and the calls were made. */
  readonly finding: RegExp;
}

const changeTwice: Act = async (perform, { apiKey }) => {
  for (const data of ['newer', 'newest']) await perform(apiKey, 'updateToken', { id: 'token-1', body: { data } });
};

export const LAUNDERINGS: Readonly<Record<string, Laundering>> = {
  'a token that was changed': {
    act: changeTwice,
    tables: TOKENS,
    calls: [PATCH, DELETE],
    finding: /older row had been restored|after it was removed/,
  },
  'a token that was changed, then deleted': {
    act: changeTwice,
    tables: TOKENS,
    calls: [DELETE],
    finding: /was removed at a revision/,
  },
  'a token that was deleted': {
    act: (perform, { apiKey }) => perform(apiKey, 'deleteToken', { id: 'token-1' }),
    tables: TOKENS,
    calls: [PATCH, DELETE],
    finding: /after it was removed/,
  },
  'an application whose key was regenerated twice': {
    act: async (perform, keys) => {
      for (let times = 0; times < 2; times++) await onApplication('regenerateApplicationKey')(perform, keys);
    },
    tables: ['application', 'application_key'],
    calls: [USE, PUT, ['management', 'deleteApplication', {}]],
    finding: /older row was restored/,
  },
  'an application whose key was regenerated, then deleted': {
    act: onApplication('regenerateApplicationKey'),
    tables: ['application'],
    calls: [['management', 'deleteApplication', {}]],
    finding: /older row was restored/,
  },
  'an application that was deleted': {
    act: onApplication('deleteApplication'),
    tables: ['application', 'application_key'],
    calls: [USE, PUT, ['management', 'deleteApplication', {}]],
    finding: /was removed according to the audit/,
  },
  'an API key that was deleted': {
    act: onApplication('deleteApplicationKey'),
    tables: ['application_key'],
    calls: [USE, ['management', 'deleteApplicationKey', {}]],
    finding: /was removed according to the audit/,
  },
  'a tenant that was changed twice': {
    act: async (perform, { management }) => {
      for (const name of ['newer', 'newest']) await perform(management, 'updateTenant', { body: { name } });
    },
    tables: ['tenant'],
    calls: [['management', 'updateTenant', { body: { name: 'ordinary' } }]],
    finding: /older row was restored/,
  },
  'a tenant that was deleted': {
    act: (perform, { management }) => perform(management, 'deleteTenant'),
    tables: ['tenant', 'tenant_key', 'application', 'application_key', ...TOKENS],
    calls: [USE, PUT],
    finding: /was removed according to the audit|is not in the audit/,
  },
};

type Laundered = ActingKeys & Pick<TamperVault, 'locations' | 'name' | 'credential'>;

/** Restores older rows before each call. Authority is then refused, and doctor still reports the rows. */
export async function launder(
  vault: Laundered,
  { act, tables, calls, finding }: Laundering,
): Promise<readonly string[]> {
  const { locations, name, credential } = vault;
  const altered = locations.nameIn(dirname(name), 'altered');
  const wrong: string[] = [];
  const kept = await locations.keep(name);
  const at = (location: string) => ({ ...locations.at(location), credential });
  const check = (location: string) => checkVaultFile(at(location));
  const alter = async (restored: readonly string[]) => {
    await locations.copy(name, altered);
    await locations.putBack(altered, kept, restored);
  };
  const application = await withVault(at(name), async (perform) => {
    const found = await privateApplication(perform, vault);
    await act(perform, vault);
    return found;
  });
  if (!(await check(name)).ok) wrong.push('doctor finds something before any row is put back');

  const isRefused = tables !== TOKENS;
  for (const call of calls) {
    await alter(tables);
    const answer = await withVault(at(altered), (_, opened) => ordinaryCall(opened, vault, application, call));
    if (isRefused !== (answer === 'integrity_failure')) wrong.push(`${call[1]} with ${call[0]} answers ${answer}`);
    if ((await check(altered)).ok) wrong.push(`doctor finds nothing after ${call[1]}`);
  }

  await alter(tables);
  await withVault(at(altered), async (_, opened) => {
    for (const call of calls) await ordinaryCall(opened, vault, application, call);
  });
  const found = (await check(altered)).findings.map(({ what }) => what).join('; ');
  if (!finding.test(found)) wrong.push(`doctor reports ${found || 'nothing'}`);
  await locations.remove(altered);
  return wrong;
}

async function ordinaryCall(
  opened: Vault,
  keys: ActingKeys,
  application: { readonly id: string; readonly keyId: string },
  [key, operation, parts]: Ordinary,
): Promise<string> {
  const perform = createCaller(() => directClient(opened), [500]);
  const reply = await perform(keys[key], operation, { ...application, ...parts });
  return reply.status < 400 ? String(reply.status) : codeOf(reply);
}
