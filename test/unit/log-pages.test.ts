import { beforeEach, describe, expect, it } from 'vitest';
import type { LogPosition } from '../../src/core/audit/log-position.ts';
import { searchLog } from '../../src/core/audit/search-log.ts';
import { openTestAudit } from './audit-fixture.ts';
import { type Core, openCore } from './core-fixture.ts';

type Listed = { readonly data: readonly { readonly id: string }[]; readonly next: string | undefined };

async function list(core: Core, query: string): Promise<Listed> {
  const answer = await core.manage('listLogs', { query });
  expect(answer.status, answer.text).toBe(200);
  return { data: answer.at('data') as Listed['data'], next: answer.at('pagination.next') as string | undefined };
}

describe('pages by number', () => {
  let core: Core;

  beforeEach(async () => {
    core = await openCore();
    for (let n = 0; n < 12; n += 1) {
      await core.token({ type: 'token', id: `t-${n}`, data: n });
      for (let read = 0; read < n % 4; read += 1) await core.own('listTokens', { query: 'size=5' });
      core.clock.advance(n % 3);
    }
    core.clock.advance(5_000);
  });

  it.each([
    ...['', 'entity_id=t-1', 'operation=createToken', 'denied=true', 'entity_type=token&operation=listTokens'],
    'start_date=2000-01-01&end_date=2999-01-01',
  ])('are the pages of the cursor, then empty ones: %s', async (filters) => {
    for (const size of [1, 2, 5, 7, 100]) {
      let page = 1;
      for (let start = ''; ; page += 1) {
        const walked = await list(core, `${filters}&size=${size}${start}`);
        expect(await list(core, `${filters}&size=${size}&page=${page}`), `page ${page} of ${size}`).toEqual(walked);
        if (walked.next === undefined) break;
        start = `&start=${walked.next}`;
      }
      for (const past of [page + 1, page + 2, Math.floor(10_000 / size)]) {
        const empty = await list(core, `${filters}&size=${size}&page=${past}`);
        expect(empty, `page ${past} of ${size}`).toEqual({ data: [], next: undefined });
      }
    }
  });
});

const TENANT = '22222222-2222-4222-8222-222222222222';

/** Returns a log of this many reads, of which the first and the last are of the token `rare`. */
async function openLog(reads: number) {
  const { keyring, store, audit } = await openTestAudit();
  const read = (id: string) =>
    audit.draft({ action: 'getToken', status: 200, application_id: TENANT, tenant_id: TENANT, entities: [id] });
  await store.appendAudit([read('rare')]);
  await store.appendAudit(Array.from({ length: reads - 2 }, () => read('often')));
  await store.appendAudit([read('rare')]);
  return { store, keyring };
}

describe('a page by number of a search that opens at most 5,000 entries a page', () => {
  it('is the page that as many cursors lead to', async () => {
    const parts = await openLog(12_002);
    const question = { tenant_id: TENANT, entity_type: 'token', size: 1 } as const;
    for (const filter of [{ operation: 'createToken' }, { operation: 'getToken', end_at: 1 }, {}]) {
      let before: LogPosition | undefined;
      for (let skip = 0; skip < 5; skip += 1) {
        const walked = await searchLog(parts, { ...question, ...filter, before });
        expect(await searchLog(parts, { ...question, ...filter, skip })).toEqual(walked);
        before = walked.next;
        if (before === undefined) break;
      }
    }
  });

  it('is the last of the 10,000 newest entries', async () => {
    const parts = await openLog(12_002);
    const { entries } = await searchLog(parts, { tenant_id: TENANT, size: 100, skip: 99 });
    expect([entries.length, entries.at(-1)?.id]).toEqual([100, '2003.1']);
  });

  it('is rejected if more than 50,000 entries lie before it', async () => {
    const parts = await openLog(56_000);
    const search = (skip: number) => searchLog(parts, { tenant_id: TENANT, operation: 'createToken', size: 1, skip });
    expect(await search(12)).toMatchObject({ entries: [], next: expect.anything() });
    const far = search(13);
    await expect(far).rejects.toMatchObject({ errors: { page: ['lies too far back in this search; use start'] } });
  }, 60_000);
});
