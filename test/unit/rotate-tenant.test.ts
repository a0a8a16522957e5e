import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import { type Audit, createAudit } from '../../src/core/audit/audit.ts';
import { createFollower, type Follower } from '../../src/core/audit/follower.ts';
import type { Keyring, Store } from '../../src/core/ports.ts';
import { createKeyring } from '../../src/keyring/master-key.ts';
import { checkVault } from '../../src/vault/checks/check-vault.ts';
import { headerEvent } from '../../src/vault/keys/header-event.ts';
import { rotateTenant } from '../../src/vault/keys/rotate-tenant.ts';
import { composeVault } from '../../src/vault/vault.ts';
import { seededRandom, steppingClock } from '../fixed-world.ts';
import { openTestStore } from '../test-store.ts';
import { RULE as ALL, type Answer, callVault } from './vault-admin-fixture.ts';

const RULE = { ...ALL, container: '/general/', permissions: [...ALL.permissions, 'token:search'] };

describe('rotation', () => {
  const clock = steppingClock();
  let store: Store;
  let keyring: Keyring;
  let follower: Follower;
  let audit: Audit;
  let tenant: string;
  let call: (operation: OperationId, parts?: Parameters<typeof callVault>[3], key?: string) => Promise<Answer>;
  let management: string;

  beforeEach(async () => {
    const random = seededRandom('rotate');
    const made = await createKeyring({ kind: 'key_file', key: random.bytes(32) }, { now: clock.now() });
    ({ keyring } = made);
    store = await openTestStore(made.header);
    const vault = composeVault({ file: 'vault.db', store, keyring, clock, random });
    onTestFinished(() => vault.close());
    follower = createFollower({ store, keyring });
    audit = createAudit({ store, keyring, follower, clock, level: 'reveal', strict: true });
    await follower.follow();
    await store.appendAuthority(audit.draftAuthority(headerEvent('createVault', await store.header())));
    const created = await vault.createTenant('test');
    tenant = created.tenant.id;
    management = created.application.key ?? '';
    let apiKey = management;
    call = (operation, parts, key = apiKey) => callVault(vault, key, operation, parts);
    const application = await call('createApplication', { body: { name: 'a', type: 'private', rules: [RULE] } });
    apiKey = application.body['key'];
  });

  const create = (data: unknown, more: object = {}) =>
    call('createToken', { body: { type: 'token', data, metadata: { tag: String(data) }, ...more } });
  const search = async (query: string) => {
    const { body } = await call('searchTokens', { body: { query } });
    return (body['data'] as { data: unknown }[]).map((token) => token.data);
  };
  const rotate = (options = { indexes: false }, over: Store = store) =>
    rotateTenant({ store: over, keyring, clock, follower, audit }, tenant, options, () => undefined);
  const found = async (tag: string) => {
    const { body } = await call('listTokens', { query: [['metadata.tag', tag]] });
    return (body['data'] as { data: unknown }[]).map((token) => token.data);
  };
  const healthy = async () => expect(await checkVault({ store, keyring })).toMatchObject({ ok: true, findings: [] });

  it('seals every record again, destroys the old key and changes nothing for clients', async () => {
    const made = [];
    for (let n = 0; n < 230; n += 1) made.push(await create(n));
    const before = await call('listTokens', { query: [['size', '100']] });
    const shown: [number, number][] = [];
    const result = await rotateTenant({ store, keyring, clock, follower, audit }, tenant, { indexes: false }, (...at) =>
      shown.push(at),
    );
    // The tenant, its two applications and their keys are sealed again, too.
    expect(result).toEqual({ tenant_id: tenant, key_id: 3, index_key_id: 2, resealed: 235, resumed: false });
    expect(shown[0]).toEqual([0, 235]);
    expect(shown.at(-1)).toEqual([235, 235]);
    expect((await store.findTenant(tenant))?.keys.map((key) => key.key_id)).toEqual([2, 3]);
    expect(await call('listTokens', { query: [['size', '100']] })).toEqual(before);
    expect(await found('17')).toEqual([17]);
    await healthy();
    expect(await rotate()).toMatchObject({ key_id: 4, resealed: 235, resumed: false });
    await healthy();
  });

  it('changes fingerprints and blind indexes with the index key', async () => {
    const { body } = await create('x');
    const before = body['fingerprint'];
    expect(await rotate({ indexes: true })).toMatchObject({ key_id: 3, index_key_id: 4 });
    const after = await call('getToken', { id: body['id'] });
    expect(after.body['fingerprint']).not.toBe(before);
    expect(await found('x')).toEqual(['x']);
    const twin = await create('x', { deduplicate_token: true });
    expect(twin.body['id']).toBe(body['id']);
    expect((await store.findTenant(tenant))?.keys.map((key) => key.key_id)).toEqual([3, 4]);
    await healthy();
  });

  it('keeps expressions that fail on the data, without results', async () => {
    const { body: made } = await create({ a: 'x' });
    const id = made['id'];
    const form = { name: 'form', type: 'public', permissions: ['token:update'] };
    const { body: application } = await call('createApplication', { body: form }, management);
    const mask = { a: '{{ data.a | plus: 1 }}', b: "{{ data.a | pad_left: 60000, 'a' | upcase | size }}" };
    const search_indexes = ['{{ data.none }}', '{{ data.a }}'];
    const definition = { mask, search_indexes, fingerprint_expression: '{{ data.none }}' };
    const set = await call('updateToken', { id, body: definition }, application['key']);
    expect([set.status, set.body]).toMatchObject([200, definition]);
    await healthy();
    await rotate({ indexes: true });
    await healthy();
    const after = await call('updateToken', { id, body: {} });
    expect([after.status, after.body]).toMatchObject([200, { ...definition, data: { a: 'x' } }]);
    expect(await search('data:x')).toEqual([{ a: 'x' }]);
    await rotate({ indexes: true });
    await healthy();
  });

  /** Returns a store that fails after `writes` writes, as if the process had been killed. */
  function dyingAfter(writes: number): Store {
    let left = writes;
    const guarded = new Set<string | symbol>([
      'addTenantKey',
      'resealTokens',
      'replaceApplication',
      'replaceTenant',
      'removeTenantKey',
    ]);
    return new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...words: unknown[]) => {
          if (guarded.has(name) && left-- <= 0) throw new Error('killed');
          return Reflect.apply(value, target, words);
        };
      },
    });
  }

  it('can be resumed after any stop, and the vault works in between', async () => {
    for (let n = 0; n < 230; n += 1) await create(n, { search_indexes: [`index ${n}`] });
    let stops = 0;
    for (const writes of [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) {
      const outcome = await rotate({ indexes: true }, dyingAfter(writes)).catch((error: Error) => error.message);
      if (outcome !== 'killed') break;
      stops += 1;
      expect(await found('17')).toEqual([17]);
      expect(await found('229')).toEqual([229]);
      expect(await search('data:"index 17" OR data:"INDEX 229" OR metadata.tag:100')).toEqual([17, 100, 229]);
      expect(await search('container:/general/* AND (metadata.tag:1 OR metadata.tag:228)')).toEqual([1, 228]);
      for (const n of [17, 229]) expect((await create(n, { deduplicate_token: true })).status).toBe(201);
      expect((await call('listTokens')).body['pagination']['total_items']).toBe(230);
      await healthy();
    }
    expect(stops).toBe(12);
    expect((await store.findTenant(tenant))?.keys).toHaveLength(2);
    await healthy();
  });

  it('loses no concurrent write', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 150; n += 1) ids.push((await create(n)).body['id']);
    let running = true;
    const written = new Map<string, unknown>(ids.map((id, n) => [id, n]));
    const writer = async (from: number) => {
      for (let n = from; running; n += 3) {
        const id = ids[n % ids.length] ?? '';
        const { status } = await call('updateToken', { id, body: { data: `w${n}` } });
        expect(status).toBe(200);
        written.set(id, `w${n}`);
        const made = await create(`n${n}`);
        expect(made.status).toBe(201);
        written.set(made.body['id'], `n${n}`);
      }
    };
    const writers = [0, 1, 2].map(writer);
    for (let n = 0; n < 4; n += 1) await rotate({ indexes: n % 2 === 1 });
    running = false;
    await Promise.all(writers);
    expect(written.size).toBeGreaterThan(150);
    for (const [id, data] of written) expect((await call('getToken', { id })).body['data']).toBe(data);
    await healthy();
  });

  /** Returns a store whose `resealTokens` calls `reseal` instead. */
  const resealing = (reseal: Store['resealTokens']): Store => ({ ...store, resealTokens: reseal });

  it('reseals at most a few megabytes at once', async () => {
    for (let n = 0; n < 5; n += 1) await create('x'.repeat(600_000), { metadata: {} });
    const sizes: number[] = [];
    const counted = resealing((id, changes) => {
      sizes.push(changes.length);
      return store.resealTokens(id, changes);
    });
    expect(await rotate({ indexes: false }, counted)).toMatchObject({ key_id: 3 });
    expect(sizes).toEqual([2, 2, 1]);
  });

  it('reads a page again whose tokens have changed meanwhile, and stops if they stay under the old key', async () => {
    await create('x');
    await create('y');
    let left = 1;
    const beside = resealing((id, changes) => store.resealTokens(id, changes.slice(left--)));
    expect(await rotate({ indexes: false }, beside)).toMatchObject({ resealed: 7, resumed: false });
    await expect(
      rotate(
        { indexes: false },
        resealing(async () => 0),
      ),
    ).rejects.toMatchObject({
      code: 'integrity_failure',
    });
    expect(await rotate()).toMatchObject({ resumed: true });
  });

  it.each(['token', 'application', 'application_key'] as const)(
    'fails if its walk misses a row of %s',
    async (hidden) => {
      await create('x');
      const inspectRows = async (...[table, ...at]: Parameters<Store['inspectRows']>) =>
        table === hidden ? [] : store.inspectRows(table, ...at);
      const damaged = { ...store, inspectRows: inspectRows as Store['inspectRows'] };
      await expect(rotate({ indexes: false }, damaged)).rejects.toMatchObject({ code: 'integrity_failure' });
      expect(await rotate()).toMatchObject({ resumed: true });
      await healthy();
    },
  );

  it('skips a tenant that is deleted before or during the creation of its key', async () => {
    const deletes: Store = new Proxy(store, {
      get:
        (target, name) =>
        async (...args: unknown[]) => {
          if (name === 'addTenantKey')
            expect(await call('deleteTenant', {}, management)).toMatchObject({ status: 204 });
          return Reflect.get(target, name).apply(target, args);
        },
    });
    expect(await rotate({ indexes: false }, deletes)).toBeUndefined();
    expect(await rotate()).toBeUndefined();
  });
});
