import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OperationId } from '../../src/contract/operations.ts';

const FOLDER = fileURLToPath(new URL('./vault-files/', import.meta.url));
/** An offset after the clear columns and blind indexes of a row, but before the end of its sealed values. */
const BEHIND_ID = 200;
/** The size of a page of the file in bytes. */
const PAGE = 4096;

/** A request, as words of a command line and as a call, and the bytes that both return. */
export interface FrozenAnswer {
  readonly apiKey: string;
  readonly words: readonly string[];
  readonly operation: OperationId;
  readonly params: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly bodyText: string;
}

/** The contents of the `.jsonl` file beside a frozen file. */
export interface Frozen {
  readonly format: number;
  /** The 32 bytes in hex. */
  readonly key_file: string;
  readonly passphrase: string;
  /** The label of the passphrase's slot. */
  readonly label: string;
  readonly answers: readonly FrozenAnswer[];
}

/** A copy of a frozen file in a new folder. */
export interface ThawedVault extends Frozen {
  readonly file: string;
  remove(): void;
}

/** Returns the formats of the frozen files, oldest first. */
export function frozenFormats(): readonly number[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.vault'));
  return names.map((name) => Number(name.replace(/\D/g, ''))).sort((a, b) => a - b);
}

/** Copies a frozen file. `change` may alter the copy. */
export function thaw(format: number, change = (bytes: Buffer): Buffer => bytes): ThawedVault {
  const folder = mkdtempSync(join(tmpdir(), 'vault-frozen-'));
  const file = join(folder, 'vault.db');
  const lines = readFileSync(join(FOLDER, `format-${format}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  const [keys, ...answers] = lines.map((line) => JSON.parse(line));
  const frozen: Frozen = { ...keys, answers };
  copyFileSync(join(FOLDER, `format-${format}.vault`), file);
  // Restrict the mode: a checkout may have created the file with any.
  chmodSync(file, 0o600);
  writeFileSync(file, change(readFileSync(file)));
  return { ...frozen, file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/**
 * For controls: flips a bit after each clear occurrence of `id`, and so also in the sealed values of its row. An index
 * entry may end with its page; the next page has other rows.
 */
export function damageRowOf(id: string): (bytes: Buffer) => Buffer {
  return (bytes) => {
    const damaged = Buffer.from(bytes);
    for (let at = bytes.indexOf(id); at !== -1; at = bytes.indexOf(id, at + 1)) {
      const target = at + id.length + BEHIND_ID;
      const isInPage = Math.floor(target / PAGE) === Math.floor(at / PAGE);
      if (isInPage) damaged[target] = (damaged[target] ?? 0) ^ 1;
    }
    return damaged;
  };
}
