import { expect, it } from 'vitest';
import { callVault, fileVault, withVault } from './vault-admin-fixture.ts';

/** The most that an application may have (decisions §9). */
const MAX_RULES = 50;

const containers = Array.from({ length: MAX_RULES }, (_, index) => `/c${index}/`);
const rulesOf = (scope: (container: string) => object) =>
  containers.map((container, index) => ({
    description: '',
    priority: index + 1,
    transform: 'reveal',
    permissions: ['token:read'],
    ...scope(container),
  }));

it('a list by an application with as many rules as there may be, within one with as many, finds and counts what both reach', async () => {
  const { file, management } = await fileVault(0);
  await withVault(file, async (vault) => {
    const make = async (key: string, body: object) => {
      const made = await callVault(vault, key, 'createApplication', { body: { name: 'a', ...body } });
      expect(made).toMatchObject({ status: 201 });
      return made.body['key'];
    };
    const creator = await make(management, {
      type: 'private',
      rules: rulesOf((container) => ({ container })),
      can_create_expiring_applications: true,
    });
    const writer = await make(management, { type: 'public', permissions: ['token:create'] });
    const within = (value: string) => ({ attribute: 'container', operator: 'starts_with', value });
    const expiring = await make(creator, {
      type: 'expiring',
      rules: rulesOf((container) => ({ conditions: [within(container), within('/')] })),
    });
    for (const container of ['/c0/', '/c49/x/', '/other/']) {
      await callVault(vault, writer, 'createToken', {
        body: { type: 'token', data: container, containers: [container] },
      });
    }
    expect(await callVault(vault, expiring, 'listTokens', { query: [['size', '1']] })).toMatchObject({
      status: 200,
      body: { pagination: { total_items: 2, total_pages: 2 }, data: [{ data: '/c49/x/' }] },
    });
  });
});
