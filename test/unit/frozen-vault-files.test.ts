import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { makeTemporaryFolder } from '../../src/cli/commands/dev/temporary-folder.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { FORMAT } from '../../src/store/sqlite/file/schema.ts';
import { checkVaultFile, openVaultAdmin } from '../../src/vault/admin.ts';
import { openVault } from '../../src/vault/vault.ts';
import { damageRowOf, frozenFormats, type ThawedVault, thaw } from '../vectors/frozen-vault-files.ts';
import { LATER } from './later-layout.ts';

function thawed(format: number, change?: (bytes: Buffer) => Buffer): ThawedVault {
  const vault = thaw(format, change);
  onTestFinished(vault.remove);
  return vault;
}

function keyFile({ key_file }: ThawedVault): Credential {
  return { kind: 'key_file', key: new Uint8Array(Buffer.from(key_file, 'hex')) };
}

async function answersOf(frozen: ThawedVault, credential: Credential): Promise<(string | undefined)[]> {
  const vault = await openVault({ file: frozen.file, credential, reportError: () => undefined });
  try {
    const replies = frozen.answers.map(({ operation, apiKey, params, query }) =>
      vault.dispatch({ operation, apiKey, params, query }),
    );
    return (await Promise.all(replies)).map(({ bodyText }) => bodyText);
  } finally {
    await vault.close();
  }
}

describe.each(frozenFormats())('a frozen vault file of format %i', (format) => {
  it('returns what it returned when it was frozen', async () => {
    const frozen = thawed(format);
    expect(frozen.format).toBe(format);
    expect(frozen.answers.length).toBeGreaterThanOrEqual(30);
    expect(await answersOf(frozen, keyFile(frozen))).toEqual(frozen.answers.map(({ bodyText }) => bodyText));
  });

  it('opens with its passphrase', async () => {
    const frozen = thawed(format);
    const { passphrase } = frozen;
    expect(await answersOf(frozen, { kind: 'passphrase', passphrase })).toEqual(
      frozen.answers.map(({ bodyText }) => bodyText),
    );
  });

  it('has the label of its passphrase', async () => {
    const frozen = thawed(format);
    const admin = await openVaultAdmin({ file: frozen.file, credential: keyFile(frozen) });
    onTestFinished(admin.close);
    expect((await admin.slots()).map(({ label }) => label)).toEqual([undefined, frozen.label]);
  });

  it('passes doctor', async () => {
    const frozen = thawed(format);
    const { ok, format: shown, checked } = await checkVaultFile({ file: frozen.file, credential: keyFile(frozen) });
    expect(ok).toBe(true);
    expect(shown).toBe('1, current; this version reads 1 and writes 1');
    expect(checked.tokens).toBe(13);
  });

  it('control: an altered row changes a reply', async () => {
    const { params } = thawed(format).answers[0] ?? {};
    const frozen = thawed(format, damageRowOf(params?.['id'] ?? ''));
    const answers = await answersOf(frozen, keyFile(frozen));
    expect(answers).not.toEqual(frozen.answers.map(({ bodyText }) => bodyText));
    expect(answers.some((text) => text?.includes('integrity_failure'))).toBe(true);
    expect((await checkVaultFile({ file: frozen.file, credential: keyFile(frozen) })).ok).toBe(false);
  });
});

describe('a newer version', () => {
  const bytesIn = (frozen: ThawedVault) => {
    const folder = path.dirname(frozen.file);
    const names = readdirSync(folder).sort();
    return names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(path.join(folder, name)))
        .digest('hex'),
    ]);
  };
  const temporaryFolders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('token-vault-doctor-'));
  const makeFolder = vi.fn(() => makeTemporaryFolder('doctor'));
  const doctor = (frozen: ThawedVault) =>
    checkVaultFile({ file: frozen.file, credential: keyFile(frozen), layout: LATER, makeFolder });

  it('checks a migrated copy of an older file, says so, and changes nothing', async () => {
    const frozen = thawed(1);
    const [before, folders] = [bytesIn(frozen), temporaryFolders()];
    expect(await doctor(frozen)).toMatchObject({
      ok: true,
      format:
        '1, older; this version reads 1 to 3 and writes 3: the next command migrates the file, and keeps vault.db.v1.backup',
      checked: { tokens: 13 },
    });
    expect(bytesIn(frozen)).toEqual(before);
    expect(makeFolder).toHaveBeenCalledOnce();
    expect(temporaryFolders()).toEqual(folders);
    expect(await answersOf(frozen, keyFile(frozen))).toEqual(frozen.answers.map(({ bodyText }) => bodyText));
  });

  it('control: doctor finds damage in an older file', async () => {
    const { params } = thawed(1).answers[0] ?? {};
    expect(await doctor(thawed(1, damageRowOf(params?.['id'] ?? '')))).toMatchObject({ ok: false });
  });

  it('migrates an older file; this version then refuses it unchanged, and opens the backup', async () => {
    const frozen = thawed(1);
    await (await openVaultFile(frozen.file, { layout: LATER })).store.close();
    expect(await doctor(frozen)).toMatchObject({
      ok: true,
      format: '3, current; this version reads 1 to 3 and writes 3',
    });
    const migrated = bytesIn(frozen);
    const refused = { code: 'newer_format', message: `${frozen.file} has format 3; this version reads 1` };
    await expect(answersOf(frozen, keyFile(frozen))).rejects.toMatchObject(refused);
    await expect(checkVaultFile({ file: frozen.file, credential: keyFile(frozen) })).rejects.toMatchObject(refused);
    expect(bytesIn(frozen)).toEqual(migrated);
    const backup = { ...frozen, file: `${frozen.file}.v1.backup` };
    expect(await answersOf(backup, keyFile(frozen))).toEqual(frozen.answers.map(({ bodyText }) => bodyText));
  });
});

it('the current format is frozen', () => {
  expect(frozenFormats()).toContain(FORMAT);
});
