import { expect, it } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openVaultAt, type VaultLocation } from '../../src/vault/location.ts';
import { CREDENTIAL, callVault, RULE } from '../unit/vault-admin-fixture.ts';

interface Alterable {
  /** Creates a closed vault. */
  create(): Promise<{ readonly location: VaultLocation; readonly management: string }>;
  /** Runs SQL on a closed vault, without its key. */
  alter(location: VaultLocation, sql: string): Promise<void>;
  /** Cases that only this store has, and SQL of cases that differs from SQLite's. */
  readonly cases?: readonly Case[];
  readonly sqlOf?: Readonly<Record<string, string>>;
}

/** A name, an edit, the finding of doctor, and the calls that fail. All other calls succeed. */
export type Case = readonly [
  name: string,
  sql: string,
  finding: RegExp,
  ...failing: readonly (OperationId | 'tenant')[],
];

const CASES: readonly Case[] = [
  ['nothing altered', '', /^$/],
  ['a negative day', 'UPDATE application_key SET last_used_day = -1', /impossible day/],
  ['a day without a date', 'UPDATE application_key SET last_used_day = 2147483647', /impossible day/],
  ['a negative month', 'UPDATE token SET active_month = -1', /impossible month/],
  ['a month without a year', 'UPDATE token SET active_month = 2147483647', /impossible month/],
  ['fewer keys', 'UPDATE application SET key_version = 0', /counted fewer/, 'createApplicationKey'],
  ['minus one key', 'UPDATE application SET key_version = -1', /impossible number of API keys/, 'createApplicationKey'],
  [
    'the highest number of keys',
    'UPDATE application SET key_version = 1000000000',
    /impossible number of API keys/,
    'createApplicationKey',
  ],
  [
    'more keys than a double counts',
    'UPDATE application SET key_version = 9007199254740993',
    /impossible number of API keys/,
    'createApplicationKey',
  ],
  [
    'more active tokens than a double counts',
    'UPDATE counter SET count = 9007199254740993 WHERE tenant > 0 AND type = 0',
    /impossible count/,
    'getUsageReport',
  ],
  [
    'a full counter of a month',
    'UPDATE counter SET count = 9223372036854775807 WHERE tenant > 0 AND type = 0',
    /impossible count/,
    'getUsageReport',
    'createToken',
  ],
  [
    'a negative counter of a type',
    'UPDATE counter SET count = -1 WHERE tenant > 0 AND type > 0',
    /counter of a type differs/,
    'getUsageReport',
  ],
  [
    'no number for a tenant',
    'UPDATE sqlite_sequence SET seq = 9223372036854775807',
    /no tenant has had|sequence/,
    'tenant',
  ],
];

const DAY = /^\d{4}-\d\d-\d\d$/;

/** Tests that a value that no seal protects fails only the calls that need it, and that doctor reports it. */
export function testImpossibleValues({ create, alter, cases = [], sqlOf = {} }: Alterable): void {
  it.each([...CASES, ...cases].map((each) => [each[0], each] as const))(
    '%s',
    async (_name, [name, sql, finding, ...failing]) => {
      const { location, management } = await create();
      const open = () => openVaultAt(location, { credential: CREDENTIAL, reportError: () => undefined });
      const fresh = await open();
      const application = { name: 'a', type: 'private', rules: [RULE] };
      const { id, key } = (await callVault(fresh, management, 'createApplication', { body: application })).body;
      const token = { type: 'token', data: 1 };
      await callVault(fresh, key, 'createToken', { body: { ...token, id: 'one' } });
      await fresh.close();
      await alter(location, sqlOf[name] ?? sql);
      const { findings } = await checkVaultFile({ ...location, credential: CREDENTIAL });
      expect(findings.map(({ what }) => what).join()).toMatch(finding);

      const vault = await open();
      const failed: string[] = [];
      for (const [operation, apiKey, parts] of [
        ['getToken', key, { id: 'one' }],
        ['listTokens', key],
        ['listApplications', management],
        ['listApplicationKeys', management, { id }],
        ['getUsageReport', management],
        ['createToken', key, { body: token }],
        ['createApplicationKey', management, { id }],
      ] as const) {
        const { status, body } = await callVault(vault, apiKey, operation, parts);
        if (status >= 400) failed.push(operation);
        if (status >= 400) expect(body).toMatchObject({ type: 'urn:token-vault:problem:integrity_failure' });
        const days = operation === 'listApplicationKeys' ? (body as { last_used_on?: string }[]) : [];
        for (const { last_used_on } of days) if (last_used_on !== undefined) expect(last_used_on).toMatch(DAY);
      }
      await vault.createTenant('another').catch((error: unknown) => {
        failed.push('tenant');
        expect(error).toMatchObject({ code: 'integrity_failure' });
      });
      await vault.close();
      expect(failed).toEqual(failing);
    },
  );
}
