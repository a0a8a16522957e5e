import { expect, it } from 'vitest';
import { callVault, fileVault, withVault } from './vault-admin-fixture.ts';

/** The limit of decisions §9. Two such applications together have more alternatives than one query takes. */
const MAX_RULES = 50;

const rulesOf = (containers: readonly string[], scope: (container: string) => object) =>
  containers.map((container, index) => ({
    description: '',
    priority: index + 1,
    transform: 'reveal',
    permissions: ['token:read'],
    ...scope(container),
  }));

it.each([2, MAX_RULES])(
  'an application with %s rules, limited by a creator with as many, lists and counts the tokens that both reach',
  async (count) => {
    const containers = Array.from({ length: count }, (_, index) => `/c${index}/`);
    const last = `/c${count - 1}/x/`;
    const { file, management } = await fileVault(0);
    await withVault(file, async (vault) => {
      const make = async (key: string, body: object) => {
        const made = await callVault(vault, key, 'createApplication', { body: { name: 'a', ...body } });
        expect(made).toMatchObject({ status: 201 });
        return made.body;
      };
      const { id, key: creator } = await make(management, {
        type: 'private',
        rules: rulesOf(containers, (container) => ({ container })),
        can_create_expiring_applications: true,
      });
      const { key: writer } = await make(management, { type: 'public', permissions: ['token:create'] });
      const within = (value: string) => ({ attribute: 'container', operator: 'starts_with', value });
      const { key: expiring } = await make(creator, {
        type: 'expiring',
        rules: rulesOf(containers, (container) => ({ conditions: [within(container), within('/')] })),
      });
      for (const container of ['/c0/', last, '/other/']) {
        await callVault(vault, writer, 'createToken', {
          body: { type: 'token', data: container, containers: [container] },
        });
      }
      expect(await callVault(vault, expiring, 'listTokens', { query: [['size', '1']] })).toMatchObject({
        status: 200,
        body: { pagination: { total_items: 2, total_pages: 2 }, data: [{ type: 'token' }] },
      });
      const listed = await callVault(vault, expiring, 'listTokens');
      expect(listed).toMatchObject({ status: 200, body: { pagination: { total_items: 2 } } });
      const { data: both }: { readonly data: readonly { readonly data: string }[] } = listed.body;
      // Tokens of one millisecond are listed in the order of their random ids.
      expect(both.map(({ data }) => data).sort()).toEqual(['/c0/', last]);
      // Take from the creator a container that the expiring application has a rule for.
      const rules = rulesOf(containers.slice(1), (container) => ({ container }));
      const body = { name: 'a', rules, can_create_expiring_applications: true };
      expect(await callVault(vault, management, 'updateApplication', { id, body })).toMatchObject({ status: 200 });
      expect(await callVault(vault, expiring, 'listTokens')).toMatchObject({
        status: 200,
        body: { pagination: { total_items: 1, total_pages: 1 }, data: [{ data: last }] },
      });
    });
  },
);
