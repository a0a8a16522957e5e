import { expect } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import type { Keyring, TenantKeyring } from '../../src/core/ports.ts';
import { type Answer, type CallParts, openTestVault, type TestVault, type TestVaultOptions } from '../test-vault.ts';

export const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };
export const MASKED_CARD = { number: 'XXXXXXXXXXXX4242', expiration_month: 12, expiration_year: 2030 };
export const PRIVATE = ['token:create', 'token:read', 'token:search', 'token:update', 'token:delete', 'token:use'];
export const DAY = 86_400_000;

export const rule = (over: object) => ({
  description: '',
  priority: 1,
  container: '/',
  transform: 'reveal',
  permissions: ['token:read'],
  ...over,
});

/** A vault with an application that may do everything with tokens and reveals all of them. */
export interface Core extends TestVault {
  readonly key: string;
  /** Calls an operation as that application. */
  own(operation: OperationId, parts?: CallParts): Promise<Answer>;
  manage(operation: OperationId, parts?: CallParts): Promise<Answer>;
  /** Creates a token and returns its id. */
  token(body: object, key?: string): Promise<string>;
}

export async function openCore(options?: TestVaultOptions): Promise<Core> {
  const world = await openTestVault('seed', options);
  const key = await world.application({ name: 'all', type: 'private', rules: [rule({ permissions: PRIVATE })] });
  return {
    ...world,
    key,
    own: (operation, parts) => world.call(key, operation, parts),
    manage: (operation, parts) => world.call(world.management, operation, parts),
    token: async (body, by = key) => {
      const answer = await world.call(by, 'createToken', { body });
      expect(answer.status, answer.text).toBe(201);
      return String(answer.at('id'));
    },
  };
}

/** Returns the paths of the errors in a 400. */
export function wrongPaths(answer: Answer): readonly string[] {
  expect(answer.status, answer.text).toBe(400);
  return Object.keys((answer.at('errors') as object | undefined) ?? {});
}

export const members = (answer: Answer) => Object.keys(JSON.parse(answer.text)).sort();

export const idsOf = (answer: Answer) => (answer.at('data') as readonly { readonly id: string }[]).map(({ id }) => id);

/** Returns a function that replaces methods of the keyrings of tenants. */
export const tenantsWith =
  (over: (own: TenantKeyring) => Partial<TenantKeyring>) =>
  (keyring: Keyring): Keyring => ({
    ...keyring,
    openTenant(...tenant) {
      const own = keyring.openTenant(...tenant);
      return { ...own, ...over(own) };
    },
  });

/**
 * Creates an expiring application with a rule on containers that start with `value`, and resolves to its key. A part of
 * a segment is no container, so the indexes cannot decide such a rule.
 */
export async function partOfSegment({ application, clock }: Core, value = '/q'): Promise<string> {
  const conditions = [{ attribute: 'container', operator: 'starts_with', value }];
  const expires_at = new Date(clock.now() + DAY / 2).toISOString();
  return application({
    name: 'part',
    type: 'expiring',
    rules: [rule({ container: undefined, conditions })],
    expires_at,
  });
}
