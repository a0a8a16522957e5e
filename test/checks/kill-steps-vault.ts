import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { archiveFile } from '../../src/cli/files/archive-file.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { type Command, cleanEnvironment, runInShared } from '../scripts/run-script.ts';
import { CheckFailure } from './check.ts';
import { VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { inParallel } from './perform.ts';
import { makeVaultFile, withVault } from './vault-file.ts';

const STEPPER = new URL('kill-at-step.mjs', import.meta.url).href;

export const TOKENS = 120;
export const IDS: readonly string[] = Array.from({ length: TOKENS }, (_, n) => `token-${n}`);

export type Files = ReadonlyMap<string, Buffer>;

/** Throws a `CheckFailure` that shows both values when they differ. */
export function demand(what: string, found: unknown, expected: unknown): void {
  const [is, wanted] = [JSON.stringify(found), JSON.stringify(expected)];
  if (is !== wanted) throw new CheckFailure(`${what}: ${is} instead of ${wanted}`);
}

export type SteppedVault = Awaited<ReturnType<typeof createSteppedVault>>;

/** Creates a vault in its own folder, whose commands are killed. */
export async function createSteppedVault() {
  const folder = makeMemoryFolder();
  const cwd = folder.path;
  const inside = (name: string) => path.join(cwd, name);
  const names = () => readdirSync(cwd);
  const read = (name: string) => readFileSync(inside(name), 'utf8');
  const vault = await makeVaultFile(cwd);
  const { file, credential, everything } = vault;
  const paths = { VAULT_CONFIG_DIR: inside('config'), VAULT_FILE: 'vault.db', VAULT_KEY_FILE: 'vault.db.key' };
  const env = { ...paths, VAULT_API_KEY: everything };
  const archives = () => names().filter((name) => /^old-\d+$/.test(name));

  return {
    inside,
    names,
    read,
    remove(pattern: RegExp): void {
      for (const name of names()) if (pattern.test(name)) rmSync(inside(name));
    },
    keep: (): Files => new Map(['vault.db', 'vault.db.key'].map((name) => [name, readFileSync(inside(name))])),
    restore(kept: Files): void {
      for (const [name, bytes] of kept) writeFileSync(inside(name), bytes);
    },
    /** Runs a command that must succeed, in a shared process; resolves to its JSON result. */
    async result(command: Command): Promise<Readonly<Record<string, unknown>>> {
      const { exitCode, stdout, stderr } = await runInShared(command, { cwd, env });
      demand(`the exit code of ${command} (${stderr || stdout})`, exitCode, 0);
      return JSON.parse(stdout);
    },
    /** Runs a command in its own process until it ends or is killed at a step. Resolves to the signal. */
    async stepped(words: readonly string[], own: Readonly<Record<string, string>> = {}): Promise<string | null> {
      const all = cleanEnvironment({ ...env, ...own, VAULT_BIN, NODE_OPTIONS: `--import ${STEPPER}` });
      const child = spawn(process.execPath, [VAULT_BIN, ...words], { cwd, env: all, stdio: 'ignore' });
      const [code, signal] = await once(child, 'close');
      if (signal === null) demand(`the exit code of ${words.join(' ')}`, code, 0);
      return signal;
    },
    create: (ids: readonly string[]): Promise<void> =>
      withVault(vault, (perform) =>
        inParallel(ids.length, 64, async (at) => {
          const body = { id: ids[at], type: 'token', data: { at, filling: 'x'.repeat(200) } };
          demand('the status of a new token', (await perform(everything, 'createToken', { body })).status, 201);
        }),
      ),
    total: (): Promise<number> =>
      withVault(vault, async (perform) => {
        const { body } = await perform(everything, 'listTokens', { query: 'size=1' });
        return (body['pagination'] as { readonly total_items: number }).total_items;
      }),
    /** Returns the rows of the audit, by their links: those in the file, and those in archives. */
    async auditLinks(): Promise<ReadonlySet<string>> {
      const links = new Set<string>();
      const { store } = await openVaultFile(file);
      for (const { link } of await store.readAudit(0, 100_000)) {
        links.add(Buffer.from(link).toString('base64'));
      }
      await store.close();
      for (const name of archives()) {
        for (const row of read(name).trim().split('\n').slice(1)) links.add(JSON.parse(row)[2]);
      }
      return links;
    },
    /** Demands a sound audit, sound archives, and this number of sound tokens. */
    async checkRecords(tokens: number): Promise<void> {
      const admin = await openVaultAdmin({ file, credential });
      for (const name of archives()) {
        const { ok } = await admin.verifyArchive(archiveFile('--archive', inside(name)));
        demand(`the archive ${name} is sound`, ok, true);
      }
      demand('the audit is sound', (await admin.verifyAudit()).ok, true);
      await admin.close();
      const { ok, checked } = await checkVaultFile({ file, credential });
      demand('the records of the file', { ok, tokens: checked.tokens }, { ok: true, tokens });
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
