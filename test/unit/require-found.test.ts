import { expect, it } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { type Core, DAY, openCore, rule } from './core-fixture.ts';

const NOBODY = '01234567-89ab-4cde-8f01-23456789abcd';
const STARTS = 'starts_with';

/** Opens a vault with the tokens `alice` and `bob`, whose store finds the tokens with `instead` for any query. */
async function openWrongStore() {
  let instead: string | undefined;
  const storeOf = ({ readNow: _readNow, ...store }: Store): Store => ({
    ...store,
    findTokens: (filter, page, now) =>
      store.findTokens(
        instead === undefined ? filter : { tenant_id: filter.tenant_id, all: [{ id_in: [instead] }] },
        page,
        now,
      ),
  });
  const core = await openCore({ storeOf });
  const expires_at = new Date(core.clock.now() + 2 * DAY).toISOString();
  const metadata = { of: 'alice' };
  await core.token({ id: 'alice', type: 'token', data: 1, containers: ['/alice/'], metadata, expires_at });
  core.clock.advance(DAY);
  await core.token({ id: 'bob', type: 'card_number', data: '4242424242424242', containers: ['/bob/'] });
  await core.own('updateToken', { id: 'alice', body: {} });
  return {
    core,
    find: (id: string | undefined) => {
      instead = id;
    },
  };
}

type Ask = (core: Core) => ReturnType<Core['own']>;
const query =
  (text: string): Ask =>
  (core) =>
    core.own('searchTokens', { body: { query: text } });
const govern =
  (attribute: string, operator: string, value: string): Ask =>
  async (core) => {
    const rules = [rule({ container: undefined, conditions: [{ attribute, operator, value }] })];
    const expires_at = new Date(core.clock.now() + DAY).toISOString();
    return core.call(await core.application({ name: 'a', type: 'expiring', rules, expires_at }), 'listTokens');
  };

it.each<readonly [string, Ask]>([
  ['an id', query('id:alice')],
  ['a type', query('type:token')],
  ['an index', query('metadata.of:alice')],
  ['a creation', query('created_at:[* TO 2026-03-02}')],
  ['an expiry', query('expires_at:[* TO 2026-03-04]')],
  ['a modification', query('modified_at:[2026-03-01 TO *]')],
  ['one of two', query('id:alice OR container:/alice/')],
  ['a negation', query(`NOT type:card_number AND NOT modified_by:${NOBODY}`)],
  ['the id of a rule', govern('id', 'equals', 'alice')],
  ['the prefix of a rule', govern('id', STARTS, 'ali')],
  ['the container of a rule', govern('container', STARTS, '/alice/')],
])('a store that finds another token by %s is damaged', async (_what, ask) => {
  const { core, find } = await openWrongStore();
  for (const [found, status, text] of [
    [undefined, 200, '"id":"alice"'],
    ['alice', 200, '"id":"alice"'],
    ['bob', 500, 'problem:integrity_failure'],
  ] as const) {
    find(found);
    const answer = await ask(core);
    expect([found, answer.status]).toEqual([found, status]);
    expect(answer.text).toContain(text);
    expect(answer.text).not.toContain('4242');
  }
});
