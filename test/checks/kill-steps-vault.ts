import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { archiveFile } from '../../src/cli/files/archive-file.ts';
import type { Call, Reply } from '../../src/contract/call.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { type Command, cleanEnvironment, initVault, runInShared } from '../scripts/run-script.ts';
import { CheckFailure } from './check.ts';
import { VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { inParallel } from './perform.ts';

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

/**
 * Creates a vault in a folder of its own, whose commands are killed, with an application that reveals, creates, changes
 * and deletes tokens.
 */
export async function createSteppedVault() {
  const folder = makeMemoryFolder();
  const cwd = folder.path;
  const inside = (name: string) => path.join(cwd, name);
  const names = () => readdirSync(cwd);
  const read = (name: string) => readFileSync(inside(name), 'utf8');
  const { key: management } = await initVault(cwd, 'vault');
  const base = { VAULT_CONFIG_DIR: inside('config'), VAULT_FILE: 'vault.db', VAULT_KEY_FILE: 'vault.db.key' };
  const rule = 'container=/ transform=reveal permissions=token:create,token:read,token:update,token:delete';
  const made = await runInShared(`apps create --name a --type private --rule '${rule}' --field key`, {
    cwd,
    env: { ...base, VAULT_API_KEY: management },
  });
  const env = { ...base, VAULT_API_KEY: made.stdout.trim() };
  const opening = () => ({
    file: inside('vault.db'),
    credential: { kind: 'key_file', key: new Uint8Array(readFileSync(inside('vault.db.key'))) } as const,
  });
  const archives = () => names().filter((name) => /^old-\d+$/.test(name));

  async function onFile(calls: readonly Pick<Call, 'operation' | 'query' | 'bodyText'>[]): Promise<readonly Reply[]> {
    const vault = await openFileVault(opening());
    const around = { apiKey: env.VAULT_API_KEY, mediaType: 'application/json', params: {} };
    const replies: Reply[] = [];
    try {
      await inParallel(calls.length, 64, async (at) => {
        const call = calls[at];
        if (call) replies[at] = await vault.dispatch({ ...around, ...call });
      });
    } finally {
      await vault.close();
    }
    return replies;
  }

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
    async create(ids: readonly string[]): Promise<void> {
      const bodies = ids.map((id, at) => ({ id, type: 'token', data: { at, filling: 'x'.repeat(200) } }));
      const calls = bodies.map(
        (body) => ({ operation: 'createToken', query: [], bodyText: JSON.stringify(body) }) as const,
      );
      for (const { status } of await onFile(calls)) demand('the status of a new token', status, 201);
    },
    async total(): Promise<number> {
      const [page] = await onFile([{ operation: 'listTokens', query: [['size', '1']] }]);
      return JSON.parse(page?.bodyText ?? '').pagination.total_items;
    },
    /** Returns the rows of the audit, by their links: those in the file, and those in archives. */
    async auditLinks(): Promise<ReadonlySet<string>> {
      const links = new Set<string>();
      const { store } = await openVaultFile(inside('vault.db'));
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
      const admin = await openVaultAdmin(opening());
      for (const name of archives()) {
        const { ok } = await admin.verifyArchive(archiveFile('--archive', inside(name)));
        demand(`the archive ${name} is sound`, ok, true);
      }
      demand('the audit is sound', (await admin.verifyAudit()).ok, true);
      await admin.close();
      const { ok, checked } = await checkVaultFile(opening());
      demand('the records of the file', { ok, tokens: checked.tokens }, { ok: true, tokens });
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}
