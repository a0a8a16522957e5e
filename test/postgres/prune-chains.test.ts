import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createChainRecorder } from '../../src/core/audit/chain-events.ts';
import { archiveLines } from '../../src/maintenance/audit-archive.ts';
import { openForKeyHolder } from '../../src/vault/key-holder.ts';
import { openVaultAt } from '../../src/vault/place.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { between, type ServedStore, SOUND, serve, servedStore, TOKENS } from './served-store.ts';

let vault: ServedStore;
beforeEach(async () => {
  vault = await servedStore();
});

describe('a prune of a store', () => {
  it('moves the ended chains to the archive, and keeps the open one', async () => {
    await vault.expectSound();
    expect(await vault.chains()).toEqual(['0', '1', '2', '3']);
    const [rows] = await vault.query('SELECT count(*) FROM vault.audit WHERE chain IN (1, 2) AND sequence > 0');
    const { archive, removed } = await vault.prune();
    expect(archive?.sections.map(({ after }) => after.chain)).toEqual(['0', '1', '2']);
    expect(removed).toBe(Number(rows) + (archive?.through.sequence ?? 0));
    expect(await vault.chains()).toEqual(['0', '3']);
    for (const table of ['audit_subject', 'audit_index']) {
      expect(await vault.query(`SELECT count(*) FROM vault.${table} WHERE chain IN (1, 2)`), table).toEqual(['0']);
    }
    // Another process read the rows before they were removed, and now adds them to the log index.
    const opened = await openForKeyHolder({ ...vault.at, credential: CREDENTIAL });
    await opened.store.indexLog('1', [{ sequence: 1, blinds: [new Uint8Array(16)] }], 0, 1);
    await opened.close();
    const entries = archive?.entries ?? 0;
    expect(await vault.verifyArchive()).toMatchObject({ ok: true, entries });
    const { audit_entries: kept } = (await vault.doctor()).checked;
    const whole = await vault.doctor(vault.at, ['old']);
    expect(whole).toMatchObject(SOUND);
    expect(whole.checked.audit_entries).toBeGreaterThan(entries);
    expect(whole.checked.audit_entries).toBe(kept + entries);
    await vault.expectSound(1);

    // The next prune removes the chain that was open.
    await vault.daemon.close();
    await vault.prune('next', await between());
    expect(await vault.chains()).toEqual(['0']);
    expect(await vault.doctor(vault.at, ['next', 'old'])).toMatchObject(SOUND);
    for (const name of ['old', 'next']) {
      expect((await vault.doctor(vault.at, [name])).findings).toEqual([expect.objectContaining({ table: 'archive' })]);
    }
    vault.daemon = await serve(vault.at);
    await vault.expectSound(2);
    await vault.expectSound(3);
    // The number of a removed chain is not used again.
    expect(await vault.chains()).toEqual(['0', '4']);
  });

  it('keeps a chain that ended later, and the entries of the root from its beginning on', async () => {
    const [opened] = await vault.query('SELECT max(at) FROM vault.audit WHERE chain = 2');
    await vault.prune('old', Number(opened));
    expect(await vault.chains()).toEqual(['0', '2', '3']);
    await vault.expectSound();
    expect(await vault.prune('none', Number(opened))).toEqual({ removed: 0 });
  });

  it('keeps a chain that ended before but has a later entry', async () => {
    await vault.daemon.close();
    let ahead = 0;
    const now = () => Date.now() + ahead;
    const four = await openVaultAt(vault.at, { credential: CREDENTIAL, clock: { now, cutoff: now, settled: now } });
    for (let n = 0; n < 9; n += 1) await vault.change(four, 'one-1', n);
    ahead = 60_000;
    await vault.change(four, 'one-2');
    ahead = 0;
    await four.close();
    await vault.prune('old', await between());
    expect(await vault.chains()).toEqual(['0', '4']);
    expect(await vault.doctor()).toMatchObject(SOUND);
    await vault.prune('next', Date.now() + 61_000);
    expect(await vault.chains()).toEqual(['0']);
    expect(await vault.doctor(vault.at, ['old', 'next'])).toMatchObject(SOUND);
  });

  it('removes a chain without entries', async () => {
    const opened = await openForKeyHolder({ ...vault.at, credential: CREDENTIAL });
    opened.store.useChainRecorder(createChainRecorder(opened.audit));
    for (let write = 0; write < 9; write += 1) await opened.store.appendAudit([]);
    await opened.close();
    await vault.daemon.close();
    expect(await vault.query('SELECT sequence FROM vault.audit WHERE chain = 4')).toEqual(['0']);
    await vault.prune('old', await between());
    expect(await vault.chains()).toEqual(['0']);
    expect(await vault.verifyArchive()).toMatchObject({ ok: true });
    expect(await vault.doctor(vault.at, ['old'])).toMatchObject(SOUND);
  });

  it('keeps an anchor valid that names a removed row', async () => {
    const anchor = join(vault.folder, 'anchor');
    const four = await serve(vault.at, anchor);
    for (let n = 0; n < 9; n += 1) await vault.change(four, 'one-1', n);
    // When a daemon closes, its anchor names the root. Keep an earlier one that names the chain.
    await sleep(1200);
    const named = readFileSync(anchor, 'utf8');
    expect(named.split('\n')[2]).toMatch(/^4 [1-9]/);
    await four.close();
    await vault.daemon.close();
    writeFileSync(anchor, named);
    const compare = () => vault.withAdmin((admin) => admin.compareWithAnchor(anchor));
    await compare();
    // Control: rows that no prune removed.
    await vault.prune('first');
    await vault.query('CREATE TEMPORARY TABLE lost AS SELECT * FROM vault.audit WHERE chain = 4');
    await vault.query('DELETE FROM vault.audit WHERE chain = 4');
    await expect(compare()).rejects.toMatchObject({ code: 'damaged' });
    await vault.query('INSERT INTO vault.audit SELECT * FROM lost');
    await vault.prune('old', await between());
    expect(await vault.chains()).toEqual(['0']);
    await compare();
    expect(await vault.doctor(vault.at, [], anchor)).toMatchObject(SOUND);
    const next = await serve(vault.at, anchor);
    await vault.change(next, 'one-1', 'last');
    await next.close();
    expect(readFileSync(anchor, 'utf8')).not.toBe(named);
    await compare();
  });

  it('lets clients follow the log from an entry of a removed chain', async () => {
    const last = (await vault.logged('size=100')).find((id) => id.startsWith('2:'));
    await vault.prune();
    const left = await vault.logged('size=100');
    expect(left.filter((id) => /^[12]:/.test(id))).toEqual([]);
    expect(left.length).toBeGreaterThan(TOKENS);
    // With several chains, a client sees new entries after a second.
    await sleep(1200);
    expect(await vault.logged(`size=100&after=${last}`)).toEqual(left);
    const waiting = vault.logged(`after=${left[0]}&wait=5`);
    await vault.change(vault.daemon, 'two-3');
    expect(await waiting).toHaveLength(1);
    // Repeat with the root as the only chain.
    await vault.daemon.close();
    await vault.prune('next', await between());
    vault.daemon = await serve(vault.at);
    await vault.change(vault.daemon, 'two-4');
    const [only] = await vault.logged('size=1');
    expect(await vault.logged(`after=${last}`)).toEqual([only]);
  });
});

describe('after a prune of a store', () => {
  it('a removed chain that somebody puts back is found', async () => {
    await vault.query('CREATE TEMPORARY TABLE lost AS SELECT * FROM vault.audit WHERE chain = 2');
    await vault.prune();
    await vault.expectSound();
    await vault.query('INSERT INTO vault.audit SELECT * FROM lost');
    const found = { table: 'audit', id: 'chain 2', what: 'was never opened' };
    expect(await vault.verify()).toMatchObject({ ok: false, first_bad: { chain: '2', what: found.what } });
    for (const archives of [[], ['old']])
      expect((await vault.doctor(vault.at, archives)).findings).toContainEqual(found);
  });

  it.each([
    ['a token', 'one-10', /an older row was restored/],
    ['a deleted token', 'one-9', /is not in the audit/],
  ])('an older row of %s that somebody puts back is found', async (_what, id, what) => {
    await vault.prune();
    await vault.expectSound();
    await vault.query(`DELETE FROM vault.token WHERE id = '${id}'`);
    await vault.query(`INSERT INTO vault.token OVERRIDING SYSTEM VALUE SELECT * FROM kept WHERE id = '${id}'`);
    expect((await vault.doctor()).findings).toContainEqual({ table: 'token', id, what: expect.stringMatching(what) });
    if (id === 'one-10') expect(await vault.change(vault.daemon, id)).toBe(500);
  });

  it('an archive that was altered in a section is found', async () => {
    await vault.prune();
    const { place } = vault.archived();
    const text = readFileSync(place, 'utf8');
    const [root = '', one = '', two = ''] = text.split(/(?<=\n)(?=\{)/);
    const without = (section: string, at: number) => {
      const lines = section.split(/(?<=\n)/);
      return lines.filter((_, n) => n !== (at < 0 ? lines.length + at : at)).join('');
    };
    const altered = one.replace(/^\[3,(\d+)/m, '[3,1$1');
    const cases: Readonly<Record<string, readonly [text: string, what: RegExp]>> = {
      'an altered row': [root + altered + two, /^1 3 was altered or moved/],
      'a removed row': [root + without(one, 3) + two, /^1 3 is missing/],
      'no last row': [root + without(one, -1) + two, /^1 \d+ is missing/],
      'no last row at the end': [root + one + without(two, -1), /^2 \d+ is missing/],
      'no rows': [root + one.split(/(?<=\n)/)[0] + two, /^1 1 is missing/],
      'a row too many': [root + one + (one.split(/(?<=\n)/).at(-1) ?? '') + two, /^1 \d+ is missing/],
      'no header': [root + one + without(two, 0), /^1 \d+ is missing/],
      'an altered header': [root + one.replace('"chain":"1"', '"chain":"7"') + two, /altered header/],
      'swapped sections': [root + two + one, /^1 0 is missing/],
      'no first section': [root + two, /^1 0 is missing/],
      'no last section': [root + one, /^2 0 is missing/],
      'a section twice': [root + one + two + one, /^1 0 was never opened/],
      'no section of the root': [one + two, /is not an audit archive/],
      'one section alone': [one, /is not an audit archive/],
    };
    for (const [name, [changed, what]] of Object.entries(cases)) {
      expect(changed, name).not.toBe(text);
      writeFileSync(place, changed);
      const report = await vault.verifyArchive().catch(({ message }: Error) => ({
        first_bad: { chain: '', sequence: '', what: message },
      }));
      const { chain, sequence, what: reported } = report.first_bad ?? {};
      expect(`${chain} ${sequence} ${reported}`, name).toMatch(what);
    }
    const found = { table: 'archive', id: '', what: expect.stringContaining(place) };
    expect((await vault.doctor(vault.at, ['old'])).findings).toContainEqual(found);
    writeFileSync(place, text);
    expect(await vault.verifyArchive()).toMatchObject({ ok: true });
  });

  it('an archive with a section that ends before its chain is found', async () => {
    const opened = await openForKeyHolder({ ...vault.at, credential: CREDENTIAL });
    onTestFinished(() => opened.close());
    const { archive } = await vault.prune();
    const sections = archive?.sections ?? [];
    const { place } = vault.archived();
    // The vault itself writes the shorter section, so its header and rows are valid.
    const rows = readFileSync(place, 'utf8').trim().split('\n');
    const at = rows.findIndex((line) => line.includes('"chain":"2"'));
    const [sequence, , link] = JSON.parse(rows.at(-2) ?? '');
    const end = { chain: '2', sequence, link: Buffer.from(link, 'base64') };
    const shorter = sections.slice(2).map(({ after }) => ({ after, through: end }));
    const kept = rows.slice(at + 1, -1).map((line) => JSON.parse(line));
    const readAudit = async () =>
      kept.map(([row, time, own, sealed]) => {
        const bytes = { link: Buffer.from(own, 'base64'), sealed: Buffer.from(sealed, 'base64') };
        return { chain: '2', sequence: row, at: time, ...bytes };
      });
    const parts = { ...opened, store: { ...opened.store, readAudit } };
    let section = '';
    for await (const piece of archiveLines(parts, shorter)) section += piece;
    expect(section.split('\n').length).toBe(rows.length - at);
    writeFileSync(place, `${[...rows.slice(0, at), section].join('\n')}`);
    expect(await vault.verifyArchive()).toMatchObject({ ok: false, first_bad: { chain: '2', what: 'is missing' } });
  });
});
