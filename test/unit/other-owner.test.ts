import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Fault } from '../../src/core/fault.ts';
import { compactVaultFile } from '../../src/store/sqlite/file/compact-file.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { backUpVault, compactVault, openVaultAdmin, restoreVault } from '../../src/vault/admin.ts';
import { moveVault } from '../../src/vault/move.ts';
import { vaultSnapshots } from '../../src/vault/snapshots.ts';
import { CREDENTIAL, callVault, type FileVault, fileVault, withVault } from './vault-admin-fixture.ts';

/** Numbers without a name in /etc/passwd. */
const OWNER = 61_500;
const STRANGER = 61_501;

/** Returns the owner and group of each file below a folder, by its path. */
function ownersBelow(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    names.map((name) => {
      const { uid, gid } = statSync(join(folder, name));
      return [name, `${uid}:${gid}`];
    }),
  );
}

/** Creates a vault whose folder and files belong to another user, as the folder of a service does. */
async function vaultOfOther(): Promise<FileVault> {
  const vault = await fileVault(3);
  for (const name of ['', ...readdirSync(vault.folder)]) chownSync(join(vault.folder, name), OWNER, OWNER);
  chmodSync(vault.folder, 0o700);
  return vault;
}

async function refusal(file: string): Promise<readonly [code: string, message: string, hint: string | undefined]> {
  try {
    await (await openVaultFile(file)).store.close();
    return ['opened', '', undefined];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [error.code, error.message.replaceAll(file, 'FILE'), error.hint];
  }
}

const opened = { credential: CREDENTIAL };
const writeToken = ({ file, apiKey }: FileVault, anchor?: string) =>
  withVault(file, (vault) => callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: 1 } }), anchor);

/** The works of root on a vault of another user. Each returns the files that belong to root afterwards. */
const WORKS: Readonly<Record<string, (vault: FileVault) => Promise<readonly string[]>>> = {
  async 'a write, with its log and an anchor'(vault) {
    const { folder } = vault;
    await withVault(
      vault.file,
      async (open) => {
        await callVault(open, vault.apiKey, 'createToken', { body: { type: 'token', data: 1 } });
        expect(Object.keys(ownersBelow(folder))).toEqual(['anchor', 'vault.db', 'vault.db-shm', 'vault.db-wal']);
        expect(new Set(Object.values(ownersBelow(folder)))).toEqual(new Set([`${OWNER}:${OWNER}`]));
      },
      join(folder, 'anchor'),
    );
    return [];
  },
  async 'a second write with the anchor of the service'(vault) {
    const anchor = join(vault.folder, 'anchor');
    for (let n = 0; n < 2; n += 1) await writeToken(vault, anchor);
    return [];
  },
  async compact({ file }) {
    expect(await compactVault({ ...opened, file })).toMatchObject({ ok: true });
    return [];
  },
  async backup({ folder, file }) {
    await backUpVault({ ...opened, from: file, to: join(folder, 'monday.db') });
    return ['monday.db'];
  },
  async restore({ folder, file }) {
    const from = join(folder, 'monday.db');
    await backUpVault({ ...opened, from: file, to: from });
    await restoreVault({ ...opened, from, to: file, moveAside: true });
    rmSync(file);
    await restoreVault({ ...opened, from, to: file });
    return ['monday.db'];
  },
  async move({ folder, file }) {
    const to = { file: join(folder, 'new.db') };
    await moveVault({ from: { file }, to }, { keepSource: false, full: false, readCredential: async () => CREDENTIAL });
    return [];
  },
  async snapshot({ file }) {
    const snapshots = vaultSnapshots(file, async () => CREDENTIAL);
    for (const replace of [false, true]) await snapshots.save('one', { replace });
    await snapshots.load('one');
    return [];
  },
};

afterEach(() => vi.restoreAllMocks());

describe.runIf(process.getuid?.() === 0)('root with a vault of another user', () => {
  it.each(Object.entries(WORKS))('%s', async (_, work) => {
    const vault = await vaultOfOther();
    const ofRoot = await work(vault);
    const owners = ownersBelow(vault.folder);
    expect(Object.keys(owners).length).toBeGreaterThan(0);
    const wanted = Object.keys(owners).map((name) => [name, ofRoot.includes(name) ? '0:0' : `${OWNER}:${OWNER}`]);
    expect(owners).toEqual(Object.fromEntries(wanted));
  });

  it.each(['-wal', '-shm', '-journal'])('rejects the %s of a third user', async (suffix) => {
    const { file } = await vaultOfOther();
    writeFileSync(file + suffix, '');
    chmodSync(file + suffix, 0o600);
    chownSync(file + suffix, STRANGER, STRANGER);
    expect(await refusal(file)).toEqual([
      'file_unsafe',
      `FILE${suffix} does not belong to user ${OWNER}`,
      `chown it to user ${OWNER}, or remove it`,
    ]);
  });

  it.each(['-wal', '-shm', '-journal'])('rejects the %s of another user beside a vault of root', async (suffix) => {
    const { file } = await fileVault(1);
    writeFileSync(file + suffix, '', { mode: 0o600 });
    chownSync(file + suffix, STRANGER, STRANGER);
    expect(await refusal(file)).toMatchObject({ 0: 'file_unsafe', 1: `FILE${suffix} does not belong to root` });
  });

  it('rejects a journal, which may name files that SQLite then removes', async () => {
    const { file } = await vaultOfOther();
    writeFileSync(`${file}-journal`, '', { mode: 0o600 });
    const refused = [
      'file_unsafe',
      `FILE-journal is a journal of user ${OWNER}`,
      `first run a command as user ${OWNER}`,
    ];
    expect(await refusal(file)).toEqual(refused);
    chownSync(file, 0, 0);
    expect(await refusal(file)).toEqual(['opened', '', undefined]);
  });

  it.each(['-wal', '-shm'])('rejects a %s with a second name, which SQLite would give to the user', async (suffix) => {
    const { file, folder } = await vaultOfOther();
    const victim = `${folder}.victim`;
    writeFileSync(victim, '', { mode: 0o600 });
    linkSync(victim, file + suffix);
    expect(await refusal(file)).toEqual([
      'file_unsafe',
      `FILE${suffix} is one of 2 names of the same file (hard links)`,
      'remove the other names',
    ]);
    expect(statSync(victim)).toMatchObject({ uid: 0, size: 0 });
    rmSync(victim);
    expect(await refusal(file)).toEqual(['opened', '', undefined]);
  });

  it('changes no mode of a file that replaces the copy of a compact', async () => {
    const { file, folder } = await vaultOfOther();
    chmodSync(file, 0o644);
    const victim = `${folder}.victim`;
    writeFileSync(victim, '', { mode: 0o600 });
    const swap = async (copy: string) => {
      rmSync(copy);
      symlinkSync(victim, copy);
    };
    await expect(compactVaultFile(file, () => undefined, swap)).rejects.toMatchObject({ code: 'file_unsafe' });
    expect(statSync(victim).mode & 0o777).toBe(0o600);
    expect(statSync(file).isFile()).toBe(true);
    rmSync(victim);
    await compactVaultFile(
      file,
      () => undefined,
      async () => undefined,
    );
    expect(statSync(file).mode & 0o777).toBe(0o644);
  });

  it.each([
    ['a user without a name', OWNER, 'user 61500'],
    ['a user of /etc/passwd', 1, 'daemon'],
  ])('another user reads the name of %s', async (_, uid, name) => {
    const { file } = await vaultOfOther();
    chownSync(file, uid, uid);
    vi.spyOn(process as { getuid: () => number }, 'getuid').mockReturnValue(STRANGER);
    expect(await refusal(file)).toEqual(['file_unsafe', `FILE belongs to ${name}`, `run it as ${name}, or as root`]);
  });

  it('a folder of snapshots of a third user is rejected', async () => {
    const { file } = await vaultOfOther();
    mkdirSync(`${file}.snapshots`, { mode: 0o700 });
    chownSync(`${file}.snapshots`, STRANGER, STRANGER);
    const refused = vaultSnapshots(file, async () => CREDENTIAL).save('one', { replace: false });
    await expect(refused).rejects.toMatchObject({ code: 'file_unsafe' });
  });

  it('the keys of the vault work', async () => {
    const admin = await openVaultAdmin({ ...opened, file: (await vaultOfOther()).file });
    expect(await admin.verifyAudit()).toMatchObject({ ok: true });
    await admin.close();
  });
});
