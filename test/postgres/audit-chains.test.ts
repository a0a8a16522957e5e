import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createAudit } from '../../src/core/audit/audit.ts';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { ROOT_CHAIN } from '../../src/core/audit/audit-link.ts';
import { createChainRecorder } from '../../src/core/audit/chain-events.ts';
import { isAudited } from '../../src/core/audit/last-change.ts';
import { indexLogs } from '../../src/core/audit/log-index.ts';
import type { AuditEntry, AuditStore, ChainEnd } from '../../src/core/audit/ports.ts';
import { type FoundLog, type LogQuestion, searchLog } from '../../src/core/audit/search-log.ts';
import { lastEvents, type PlacedEvent, walkAudit } from '../../src/core/audit/walk-audit.ts';
import type { Keyring, Store } from '../../src/core/ports.ts';
import { createKeyring } from '../../src/keyring/create-keyring.ts';
import { checkVault } from '../../src/maintenance/check-vault.ts';
import { headerEvent } from '../../src/maintenance/header-event.ts';
import { createLedger } from '../../src/maintenance/ledger.ts';
import { seededRandom } from '../fixed-world.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { type Core, openCore } from '../unit/core-fixture.ts';
import { openRollingStore } from './rolling-store.ts';

const atEnd = atEndOfSuite();
let core: Core;
let store: Store;
let keyring: Keyring;

/** Opens a vault to which two processes write in turn, and makes enough changes that chains end. */
beforeAll(async () => {
  core = await openCore({
    keyringOf(own) {
      keyring = own;
      return own;
    },
    async storeOf(header) {
      store = await openRollingStore(header, 2, atEnd);
      return store;
    },
    atEnd,
  });
  const parts = { store, keyring, clock: core.clock, level: 'reveal', strict: true } as const;
  const audit = createAudit(parts);
  await store.appendAudit([audit.draft(headerEvent('createVault', await store.header()))]);
  for (let n = 0; n < 12; n += 1) {
    const id = `token-${n}`;
    await core.token({ type: 'token', id, data: n });
    for (let change = 0; change < 3; change += 1) await patch(id, change);
    if (n % 4 === 0) expect((await core.own('deleteToken', { id })).status).toBe(204);
    core.clock.advance(100);
  }
});

async function patch(id: string, n: number): Promise<void> {
  expect((await core.own('updateToken', { id, body: { metadata: { n: String(n) } } })).status).toBe(200);
}

/** Returns the store with an altered audit. */
function altered(change: Partial<Store>): Store {
  return { ...store, ...change };
}

async function walked(from: AuditStore): Promise<readonly PlacedEvent[]> {
  const events: PlacedEvent[] = [];
  for await (const placed of walkAudit({ store: from, keyring })) events.push(placed);
  return events;
}

/** Returns a store whose ends are altered, and a chain that has ended, and one that is open. */
async function withEnds(change: (ends: readonly ChainEnd[], closed: string, open: string) => readonly ChainEnd[]) {
  const ends = await store.auditHeads();
  return altered({ auditHeads: async () => change(ends, '1', ends.at(-1)?.chain ?? '') });
}

describe('the walk of several chains', () => {
  it('yields all events in the order of their times, and checks them', async () => {
    const events = await walked(store);
    const heads = await store.auditHeads();
    expect(heads.length).toBeGreaterThan(4);
    expect(new Set(events.map(({ chain }) => chain)).size).toBe(heads.length);
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).sort((a, b) => a - b));
    expect(events.filter(({ event }) => event.action === 'noteChains').length).toBeGreaterThan(2);
    expect(events.filter(({ event }) => event.action === 'closeChain').length).toBeGreaterThan(1);
  });

  const shorter = (chain: string, by: number) => (end: ChainEnd) =>
    end.chain === chain ? { ...end, sequence: end.sequence - by } : end;

  it.each<[string, Parameters<typeof withEnds>[0], string]>([
    ['a cut end', (ends, closed) => ends.map(shorter(closed, 1)), 'chain 1 of the audit ends before the place'],
    ['a cut open chain', (ends, _, open) => ends.map(shorter(open, 6)), 'ends before the place that the root records'],
    ['a longer closed chain', (ends, closed) => ends.map(shorter(closed, -1)), 'chain 1 of the audit continues after'],
    ['a lost chain', (ends) => ends.filter(({ chain }) => chain !== '2'), 'chain 2 of the audit is missing'],
    [
      'a foreign chain',
      (ends) => [...ends, { chain: '99', sequence: 1, at: 0, link: new Uint8Array(16) }],
      'chain 99 of the audit was never opened',
    ],
  ])('finds %s', async (_what, change, message) => {
    await expect(walked(await withEnds(change))).rejects.toThrow(message);
  });

  /** Alters the rows of chain 1 as they are read. */
  const reading = (change: (rows: readonly AuditEntry[]) => readonly AuditEntry[]) =>
    altered({
      readAudit: async (chain, after, limit) => {
        const rows = await store.readAudit(chain, after, limit);
        return chain === '1' ? change(rows) : rows;
      },
    });

  it('names the chain of an altered or missing row', async () => {
    const late = reading((rows) => rows.map((row) => (row.sequence === 3 ? { ...row, at: row.at + 1 } : row)));
    await expect(walked(late)).rejects.toThrow('row 1:3 of the audit was altered or moved');
    const lost = reading((rows) => rows.filter(({ sequence }) => sequence !== 4));
    await expect(walked(lost)).rejects.toThrow('row 1:4 of the audit is missing');
    const swapped = altered({
      readAudit: (chain, after, limit) => store.readAudit(chain === '1' ? '2' : chain, after, limit),
    });
    await expect(walked(swapped)).rejects.toThrow(/row 1:\d of the audit was altered or moved/);
  });

  it('finds a chain that has other rows than those in the notes of the root', async () => {
    const rows: AuditEntry[] = [];
    let [{ link } = { link: new Uint8Array() }] = await store.readAudit('1', -1, 1);
    for (const row of await store.readAudit('1', 0, 100)) {
      const moved = { ...row, sealed: keyring.sealAuditEvent(row.at, keyring.openAuditEvent(row.at, row.sealed)) };
      link = keyring.auditLink(link, moved);
      rows.push({ ...moved, link });
    }
    const rewritten = altered({
      readAudit: async (chain, after, limit) =>
        chain === '1' && after >= 0 ? rows.slice(after, after + limit) : store.readAudit(chain, after, limit),
    });
    await expect(walked(rewritten)).rejects.toThrow(/row 1:\d+ of the audit was altered or moved/);
  });
});

describe('the last change of a record', () => {
  const check = (from: Store, id: string, revision: number) =>
    isAudited({ store: from, keyring, clock: core.clock }, 'token', { tenant_id: core.tenantId, id, revision });

  it('has the greatest revision in all chains', async () => {
    const found = await store.findToken(core.tenantId, 'token-1', core.clock.now());
    if (found === undefined) throw new Error('the token is missing');
    expect(await check(store, 'token-1', 4)).toBe(true);
    expect(await check(store, 'token-1', 3)).toBe(false);
    for (const revision of [1, 2, 3]) {
      const restored = altered({ findToken: async () => ({ ...found, revision }) });
      await expect(check(restored, 'token-1', revision)).rejects.toThrow('integrity_failure');
    }
  });

  it('is found again if a prune removes its row meanwhile', async () => {
    const losing = (times: number) => {
      let left = times;
      return altered({ readAudit: async (...read) => (left-- > 0 ? [] : store.readAudit(...read)) });
    };
    expect(await check(losing(1), 'token-1', 4)).toBe(true);
    await expect(check(losing(Number.POSITIVE_INFINITY), 'token-1', 4)).rejects.toThrow('integrity_failure');
  });

  it('is the removal in any chain', async () => {
    const found = await store.findToken(core.tenantId, 'token-1', core.clock.now());
    if (found === undefined) throw new Error('the token is missing');
    expect(await check(store, 'token-0', 4)).toBe(false);
    const restored = altered({ findToken: async () => ({ ...found, id: 'token-0', revision: 4 }) });
    await expect(check(restored, 'token-0', 4)).rejects.toThrow('integrity_failure');
  });
});

describe('doctor', () => {
  const findings = async (from: Store = store) => (await checkVault({ store: from, keyring })).findings;
  const inspecting = (change: (id: string, revision: number) => number | undefined) =>
    altered({
      inspectRows: async (table, ...query) => {
        const rows = await store.inspectRows(table, ...query);
        return rows.flatMap((row) => {
          if (table !== 'token' || row.record === undefined || !('revision' in row.record)) return [row];
          const revision = change(row.id, row.record.revision);
          return revision === undefined ? [] : [{ ...row, record: { ...row.record, revision } }];
        });
      },
    });

  it('finds nothing in a sound vault', async () => {
    expect(await findings()).toEqual([]);
    await indexLogs({ store, keyring });
    expect(await findings()).toEqual([]);
    const counting = await checkVault({ store, keyring }, undefined, { tokens: false });
    expect(counting.findings).toEqual([]);
    // The sound rows below are the same, but each carries its own revision through the alteration.
    expect(await findings(inspecting((_, revision) => revision))).toEqual([]);
  });

  it('finds rows that were restored, removed or added', async () => {
    const restored = await findings(inspecting((id, revision) => (id === 'token-1' ? 3 : revision)));
    expect(restored).toContainEqual(
      expect.objectContaining({ table: 'token', id: 'token-1', what: expect.stringContaining('an older row') }),
    );
    const removed = await findings(inspecting((id, revision) => (id === 'token-2' ? undefined : revision)));
    expect(removed).toMatchObject([{ table: 'token', id: 'token-2', what: expect.stringContaining('has no row') }]);
  });

  it('finds rows that the indexes of a chain lack', async () => {
    await indexLogs({ store, keyring });
    for (const lacking of ['findUnindexed', 'findUnlogged'] as const) {
      const found = await findings(altered({ [lacking]: async (chain: string) => (chain === '2' ? [3] : []) }));
      expect(found).toContainEqual({ table: 'audit', id: '2:3', what: expect.stringContaining('index of the audit') });
    }
  });

  it('accepts a change during the check', async () => {
    core.clock.set(Date.now());
    const busy = altered({
      listTenants: async () => {
        await patch('token-1', 9);
        return store.listTenants();
      },
    });
    expect(await findings(busy)).toEqual([]);
  });

  it('reports a broken chain as one finding', async () => {
    const cut = await withEnds((ends) => ends.filter(({ chain }) => chain !== '2'));
    expect(await findings(cut)).toEqual([{ table: 'audit', id: 'chain 2', what: 'is missing' }]);
  });
});

describe('the ledger of several chains', () => {
  const TENANT = '11111111-1111-4111-8111-111111111111';
  const token = (revision: number | undefined, at: number): PlacedEvent =>
    placed({ action: revision === undefined ? 'deleteToken' : 'updateToken', revision }, at);
  const placed = (event: Partial<AuditEvent> & Pick<AuditEvent, 'action'>, at = 0): PlacedEvent => ({
    chain: '1',
    sequence: at,
    n: 1,
    at,
    link: new Uint8Array(16),
    event: { status: 200, tenant_id: TENANT, entities: ['t'], ...event },
  });
  const begin = [
    placed({ action: 'openChain', tenant_id: undefined, entities: ['1'] }),
    placed({ action: 'createTenant', revision: 1, entities: ['app'] }),
  ];

  function skipsOf(...events: readonly PlacedEvent[]) {
    const ledger = createLedger();
    for (const event of events) ledger.apply(event);
    ledger.finish();
    return { skips: ledger.skips().map(({ what }) => what), state: ledger.take('token', TENANT, 't') };
  }

  it('accepts entries about one record in any order that the times allow', () => {
    const sound = { skips: [], state: 3 };
    expect(skipsOf(...begin, token(1, 1), token(2, 2), token(3, 3))).toEqual(sound);
    expect(skipsOf(...begin, token(3, 1), token(1, 2), token(2, 3))).toEqual(sound);
    const removed = { skips: [], state: 'removed' };
    expect(skipsOf(...begin, token(undefined, 1), token(1, 2))).toEqual(removed);
    expect(skipsOf(...begin, token(1, 1), token(undefined, 2), token(2, 3))).toEqual(removed);
    const [opened, tenant] = begin;
    if (opened && tenant) expect(skipsOf(opened, token(1, 1), tenant).state).toBe(1);
  });

  it('finds changes that follow no entry', () => {
    const skipped = expect.stringContaining('not its last one in the audit');
    expect(skipsOf(...begin, token(1, 1), token(3, 2))).toEqual({ skips: [skipped], state: 3 });
    expect(skipsOf(...begin, token(1, 1), token(2, 2), token(2, 3))).toEqual({ skips: [skipped], state: 2 });
    expect(skipsOf(...begin, token(undefined, 1))).toMatchObject({ skips: [skipped] });
    const revived = expect.stringContaining('after it was removed');
    expect(skipsOf(...begin, token(1, 1), token(undefined, 2), token(2, 60_000)).skips).toEqual([revived]);
    expect(skipsOf(token(1, 1)).skips).toEqual([revived]);
    expect(skipsOf(...begin.slice(0, 1), token(1, 1)).skips).toEqual([revived]);
  });
});

describe('lists of the log', () => {
  it('merge the chains, newest first, and page as one list', async () => {
    const list = async (query: string) => {
      const answer = await core.manage('listLogs', { query });
      expect(answer.status, answer.text).toBe(200);
      return {
        data: answer.at('data') as readonly { readonly id: string; readonly created_at: string }[],
        next: answer.at('pagination.next') as string | undefined,
      };
    };
    const { data: all } = await list('size=100');
    const times = all.map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(new Set(all.map(({ id }) => id.replace(/:.*/, ''))).size).toBeGreaterThan(3);
    const paged: string[] = [];
    for (let next: string | undefined, query = 'size=7'; ; query = `size=7&start=${next}`) {
      const page = await list(query);
      paged.push(...page.data.map(({ id }) => id));
      next = page.next;
      // Later entries do not move the pages.
      if (paged.length < 40) await patch('token-1', paged.length);
      if (next === undefined) break;
    }
    expect(paged).toEqual(all.map(({ id }) => id));
    const [newest] = (await list('size=1')).data;
    const waiting = list(`after=${newest?.id}&wait=5`);
    core.clock.advance(100);
    await patch('token-2', 1);
    await patch('token-3', 1);
    expect((await list(`after=${newest?.id}`)).data).toEqual([]);
    core.clock.advance(2000);
    const { data: late } = await waiting;
    expect(late).toHaveLength(2);
    expect(await list(`after=${newest?.id}`)).toEqual({ data: late, next: undefined });
    expect((await list(`after=${late[1]?.id}`)).data).toEqual(late.slice(0, 1));
    expect((await list(`after=${late[0]?.id}`)).data).toEqual([]);
    expect((await list('after=0.0&size=100')).data).toEqual((await list('size=100')).data);
    const shown = await lastEvents({ store, keyring }, () => true, 1000);
    expect(shown).toHaveLength((await walked(store)).length);
    const shownTimes = shown.map(({ at }) => at);
    expect(shownTimes).toEqual(shownTimes.toSorted((a, b) => b - a));
  });

  it('page exactly even if times within a chain are not in order', async () => {
    const random = seededRandom('jitter');
    const tenant_id = '22222222-2222-4222-8222-222222222222';
    let now = Date.UTC(2026, 0, 1);
    const at = () => now - (random.bytes(1)[0] ?? 0);
    const made = await createKeyring({ kind: 'key_file', key: new Uint8Array(32) }, { now });
    const parts = { store: await openRollingStore(made.header, 3, onTestFinished), keyring: made.keyring };
    const clock = { now: at, cutoff: at, settled: at };
    const audit = createAudit({ ...parts, clock, level: 'all', strict: true });
    parts.store.useChainRecorder(createChainRecorder(audit));
    for (let n = 0; n < 100; n += 1) {
      now += 20;
      const entities = [n % 3 === 0 ? 'rare' : `t${n}`];
      const event = { action: 'getToken', status: 200, tenant_id, entities } as const;
      await parts.store.appendAudit([audit.draft(event)]);
    }
    const pages = async (question: Partial<LogQuestion>, size: number) => {
      const ids: string[] = [];
      for (let before: FoundLog['next']; ; ) {
        const { entries, next } = await searchLog(parts, { tenant_id, ...question, before, size });
        ids.push(...entries.map(({ id }) => id));
        if (next === undefined) return ids;
        before = next;
      }
    };
    for (const indexed of [false, true]) {
      if (indexed) await indexLogs(parts);
      for (const question of [{}, { entity_id: 'rare' }]) {
        const whole = await pages(question, 1000);
        expect(new Set(whole).size).toBe(indexed || !('entity_id' in question) ? whole.length : 34);
        for (const size of [2, 9]) expect(await pages(question, size)).toEqual(whole);
      }
    }
    expect((await pages({}, 1000)).some((id) => id.includes(':'))).toBe(true);
    expect((await parts.store.auditHead(ROOT_CHAIN)).sequence).toBeGreaterThan(10);
  });
});
