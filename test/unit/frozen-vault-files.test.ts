import { describe, expect, it, onTestFinished } from 'vitest';
import type { Credential } from '../../src/keyring/credential.ts';
import { FILE_FORMAT } from '../../src/store/sqlite/file/schema.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { damageRowOf, frozenFormats, type ThawedVault, thaw } from '../vectors/frozen-vault-files.ts';

function thawed(format: number, change?: (bytes: Buffer) => Buffer): ThawedVault {
  const vault = thaw(format, change);
  onTestFinished(vault.remove);
  return vault;
}

function keyFile({ key_file }: ThawedVault): Credential {
  return { kind: 'key_file', key: new Uint8Array(Buffer.from(key_file, 'hex')) };
}

async function answersOf(frozen: ThawedVault, credential: Credential): Promise<(string | undefined)[]> {
  const vault = await openFileVault({ file: frozen.file, credential, reportError: () => undefined });
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
    expect(shown).toBe(format);
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

it('the current format is frozen', () => {
  expect(frozenFormats()).toContain(FILE_FORMAT);
});
