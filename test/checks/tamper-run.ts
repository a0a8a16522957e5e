import { execFile } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FAULTS, type FaultCode } from '../../src/contract/faults.ts';
import { Fault } from '../../src/core/fault.ts';
import type { CheckReport } from '../../src/maintenance/check-vault.ts';
import { checkVaultFile } from '../../src/vault/admin.ts';
import { openVault } from '../../src/vault/vault.ts';
import { judgeReply, type Replies, readEverything, type Verdict } from './tamper-reads.ts';
import type { TamperVault } from './tamper-vault.ts';

const VAULT = fileURLToPath(new URL('../../bin/vault.js', import.meta.url));
const INTEGRITY = FAULTS.damaged.exit;

/** What an alteration of the file came to. */
export interface Tampered {
  readonly name: string;
  /** The first that noticed: opening the vault, a read, or only doctor. Undefined: nobody. */
  readonly caught: 'open' | 'read' | 'doctor' | undefined;
  readonly verdicts: ReadonlySet<Verdict>;
  readonly reads: number;
  /** What should not be: other data, a missing finding, an unclear error. */
  readonly wrong: readonly string[];
}

export interface TamperCase {
  readonly name: string;
  /** Changes the closed file. */
  readonly alter: (file: string) => Promise<void>;
  /** What a finding of doctor must say. */
  readonly says?: RegExp;
  /** What the vault may answer: what it did when it was sound, and for rows put back what it did before. */
  readonly now?: Replies;
  readonly before?: Replies;
  /** Of the file before: opened and checked with it. */
  readonly anchor?: string;
}

const REFUSALS: ReadonlySet<FaultCode> = new Set(['damaged', 'not_a_vault', 'newer_format', 'wrong_credential']);

/** Alters a copy of the vault, then has everything read and the file checked, in this process and, if `cli`, by the command line. */
export async function tamperOnce(
  vault: TamperVault,
  sound: Replies,
  applications: readonly string[],
  given: TamperCase,
  { cli }: { readonly cli: boolean },
): Promise<Tampered> {
  const { name, anchor, before, now = sound } = given;
  const file = join(vault.folder, 'altered.db');
  copyFileSync(vault.file, file);
  const wrong: string[] = [];
  const verdicts = new Set<Verdict>();
  let reads = 0;
  try {
    await given.alter(file).catch((cause: unknown) => {
      throw new Error(`the edit itself failed: ${name}: ${String(cause)}`, { cause });
    });
    const report = await refusedOr(() => checkVaultFile({ file, credential: vault.credential, anchor }));
    const found = report instanceof Fault ? report.message : findingsOf(report);
    const doctor = found !== '' && (given.says === undefined || given.says.test(found));
    if (!doctor) wrong.push(`${name}: doctor says ${found === '' ? 'nothing' : found}`);
    if (cli) wrong.push(...(await askCommandLine(file, vault, anchor)).map((what) => `${name}: ${what}`));

    const opened = await refusedOr(() => {
      return openVault({ file, credential: vault.credential, anchor, reportError: () => undefined });
    });
    if (!(opened instanceof Fault)) {
      const replies = await readEverything(opened, vault, applications);
      await opened.close().catch(refusal);
      for (const [read, reply] of replies) {
        const verdict = judgeReply(read, reply, now, before);
        verdicts.add(verdict);
        reads += 1;
        if (verdict === 'other') wrong.push(`${name}: ${read} answers ${reply.status} ${reply.text.slice(0, 300)}`);
      }
    }
    const caught = opened instanceof Fault ? 'open' : verdicts.has('error') ? 'read' : doctor ? 'doctor' : undefined;
    return { name, caught, verdicts, reads, wrong };
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  }
}

const findingsOf = ({ findings }: CheckReport) => findings.map(({ what }) => what).join('; ');

/** A fault that says clearly what is wrong with the file. */
function refusal(error: unknown): Fault {
  if (error instanceof Fault && REFUSALS.has(error.code)) return error;
  if (error instanceof Error && 'code' in error && error.code === 'integrity_failure') {
    return new Fault('damaged', error.message);
  }
  throw error;
}

async function refusedOr<T>(work: () => Promise<T>): Promise<T | Fault> {
  return work().catch(refusal);
}

/** What is wrong with how the built product's doctor ends, by its exit code. */
async function askCommandLine(
  file: string,
  vault: TamperVault,
  anchor: string | undefined,
): Promise<readonly string[]> {
  const flags = ['--file', file, '--key-file', `${vault.file}.key`];
  const anchored = anchor === undefined ? [] : ['--anchor', anchor];
  const doctor = await exitOf(['doctor', ...flags, ...anchored]);
  const list = await exitOf(['tokens', 'list', ...flags], vault.apiKey);
  const clear = new Set([0, 3, 4, 5, INTEGRITY, FAULTS.wrong_credential.exit]);
  return [
    ...(doctor === INTEGRITY || doctor === FAULTS.wrong_credential.exit ? [] : [`vault doctor exits with ${doctor}`]),
    ...(clear.has(list) ? [] : [`vault tokens list exits with ${list}`]),
  ];
}

function exitOf(words: readonly string[], apiKey = ''): Promise<number> {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('VAULT_'));
  const env = { ...Object.fromEntries(own), VAULT_API_KEY: apiKey };
  return new Promise((resolve) => {
    execFile(process.execPath, [VAULT, ...words], { env }, (error) => resolve(error ? Number(error.code ?? -1) : 0));
  });
}
