import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OperationId } from '../../src/contract/operations.ts';

const FOLDER = fileURLToPath(new URL('./vault-files/', import.meta.url));
/** The clear columns and blind indexes of a row take less; its sealed values take more. */
const BEHIND_ID = 200;

/** One question, as words for the command line and as parts of a call, and the bytes that answer it through both. */
export interface FrozenAnswer {
  readonly apiKey: string;
  readonly words: readonly string[];
  readonly operation: OperationId;
  readonly params: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly bodyText: string;
}

/** What `freeze-vault-file.js` wrote beside a frozen file. */
export interface Frozen {
  readonly format: number;
  /** Hex of the 32 bytes. */
  readonly key_file: string;
  readonly passphrase: string;
  readonly answers: readonly FrozenAnswer[];
}

/** A copy of a frozen file in a folder of its own, as an owner would have it. */
export interface ThawedVault extends Frozen {
  readonly file: string;
  readonly keyFile: string;
  readonly passphraseFile: string;
  remove(): void;
}

/** The formats that files were frozen of, oldest first. */
export function frozenFormats(): readonly number[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.vault'));
  return names.map((name) => Number(name.replace(/\D/g, ''))).sort((a, b) => a - b);
}

/** `change` alters the copy before anybody opens it. */
export function thaw(
  format: number,
  change: (bytes: Buffer, frozen: Frozen) => Buffer = (bytes) => bytes,
): ThawedVault {
  const folder = mkdtempSync(join(tmpdir(), 'vault-frozen-'));
  const [file, keyFile, passphraseFile] = ['vault.db', 'key', 'passphrase'].map((name) => join(folder, name));
  if (!file || !keyFile || !passphraseFile) throw new Error('unreachable');
  const lines = readFileSync(join(FOLDER, `format-${format}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  const [keys, ...answers] = lines.map((line) => JSON.parse(line));
  const frozen: Frozen = { ...keys, answers };
  copyFileSync(join(FOLDER, `format-${format}.vault`), file);
  // A checkout has whatever mode it likes; a vault is its owner's alone.
  chmodSync(file, 0o600);
  writeFileSync(file, change(readFileSync(file), frozen));
  writeFileSync(keyFile, Buffer.from(frozen.key_file, 'hex'), { mode: 0o600 });
  writeFileSync(passphraseFile, frozen.passphrase, { mode: 0o600 });
  return { ...frozen, file, keyFile, passphraseFile, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** For controls: one bit flipped behind each place where `id` stands in clear, so in the sealed values of its row, too. */
export function damageRowOf(id: string): (bytes: Buffer) => Buffer {
  return (bytes) => {
    const damaged = Buffer.from(bytes);
    for (let at = bytes.indexOf(id); at !== -1; at = bytes.indexOf(id, at + 1)) {
      const target = at + id.length + BEHIND_ID;
      damaged[target] = (damaged[target] ?? 0) ^ 1;
    }
    return damaged;
  };
}
