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

/** The result of altering the file. */
export interface Tampered {
  readonly name: string;
  /** The first step that detected the change: opening the vault, a read, or doctor. Undefined if none did. */
  readonly caught: 'open' | 'read' | 'doctor' | undefined;
  readonly verdicts: ReadonlySet<Verdict>;
  readonly reads: number;
  /** Violations: other data, a missing finding, or an unclear error. */
  readonly wrong: readonly string[];
}

export interface TamperCase {
  readonly name: string;
  /** Changes the closed file. */
  readonly alter: (file: string) => Promise<void>;
  /** Matches the finding that doctor must report. */
  readonly finding?: RegExp;
  /**
   * The replies that are allowed: those of the sound vault and, if older rows were restored, those before the change.
   */
  readonly now?: Replies;
  readonly before?: Replies;
  /** The anchor to open and check the file with. */
  readonly anchor?: string;
}

const REFUSALS: ReadonlySet<FaultCode> = new Set(['damaged', 'not_a_vault', 'newer_format', 'wrong_credential']);

/** Alters a copy of the vault, then reads everything and runs doctor. `cli` also runs the command line. */
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
    const doctor = found !== '' && (given.finding === undefined || given.finding.test(found));
    if (!doctor) wrong.push(`${name}: doctor reports ${found === '' ? 'nothing' : found}`);
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

/** Returns the fault of an error that clearly reports damage. Throws any other error. */
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

/** Runs doctor and a list with the built command line. Resolves to their wrong exit codes. */
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
