import { FAULTS, type FaultCode } from '../../src/contract/faults.ts';
import { Fault } from '../../src/core/fault.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import type { CheckReport } from '../../src/vault/checks/check-vault.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openVaultAt } from '../../src/vault/location.ts';
import { runVault } from './daemon-process.ts';
import type { TamperLocations } from './tamper-locations.ts';
import { codeOf, judgeReply, type Replies, readEverything, type Verdict } from './tamper-reads.ts';
import type { TamperVault } from './tamper-vault.ts';

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
  readonly alter: (name: string) => Promise<void>;
  readonly finding?: RegExp;
  /** The allowed replies: of the sound vault, and before the change if older rows were restored. */
  readonly now?: Replies;
  readonly before?: Replies;
  readonly anchor?: string;
  /** Whether `vault audit verify` must find the edit, too. */
  readonly isAudit?: boolean;
  /** Whether the edited value is not sealed, so that nothing need find the edit. Then only counters may change. */
  readonly isUnsealed?: boolean;
}

const REFUSALS: readonly FaultCode[] = ['damaged', 'not_a_vault', 'newer_format', 'wrong_credential'];

/** Alters a copy of the vault, then reads everything and runs doctor. `cli` also runs the command line. */
export async function tamperOnce(
  vault: TamperVault,
  sound: Replies,
  applications: readonly string[],
  given: TamperCase,
  { cli }: { readonly cli: boolean },
): Promise<Tampered> {
  const { name, anchor, before, now = sound } = given;
  const { locations } = vault;
  const altered = locations.nameIn(vault.folder, 'altered');
  await locations.copy(vault.name, altered);
  const wrong: string[] = [];
  const verdicts = new Set<Verdict>();
  let reads = 0;
  try {
    await given.alter(altered).catch((cause: unknown) => {
      throw new Error(`the edit itself failed: ${name}: ${String(cause)}`, { cause });
    });
    const report = await refusedOr(locations, () =>
      checkVaultFile({ ...locations.at(altered), credential: vault.credential, anchor }),
    );
    const found = report instanceof Fault ? report.message : findingsOf(report);
    const doctor = found !== '' && (given.finding === undefined || given.finding.test(found));
    const { isAudit = false, isUnsealed = false } = given;
    if (!doctor && !isUnsealed) wrong.push(`${name}: doctor reports ${found === '' ? 'nothing' : found}`);
    if (isAudit && (await verifies(vault, altered))) wrong.push(`${name}: audit verify finds nothing`);
    if (cli && !isUnsealed)
      wrong.push(...(await askCommandLine(altered, vault, anchor)).map((what) => `${name}: ${what}`));

    const opened = await refusedOr(locations, () => {
      const { credential } = vault;
      return openVaultAt(locations.at(altered), { credential, anchor, reportError: () => undefined });
    });
    if (!(opened instanceof Fault)) {
      const replies = await readEverything(opened, vault, applications);
      await opened.close().catch((error: unknown) => refusal(error, locations));
      for (const [read, reply] of replies) {
        const isRefused = reply.status >= 400 && locations.problems.includes(codeOf(reply));
        const verdict = isRefused ? 'error' : judgeReply(read, reply, now, before);
        verdicts.add(verdict);
        reads += 1;
        const isWrong = verdict === 'other' || (isUnsealed && verdict !== 'same' && verdict !== 'counters');
        if (isWrong) wrong.push(`${name}: ${read} answers ${reply.status} ${reply.text.slice(0, 300)}`);
      }
    }
    const caught = opened instanceof Fault ? 'open' : verdicts.has('error') ? 'read' : doctor ? 'doctor' : undefined;
    return { name, caught, verdicts, reads, wrong };
  } finally {
    await locations.remove(altered);
  }
}

async function verifies({ locations, credential }: TamperVault, altered: string): Promise<boolean> {
  const admin = await refusedOr(locations, () => openVaultAdmin({ ...locations.at(altered), credential }));
  if (admin instanceof Fault) return false;
  try {
    const report = await refusedOr(locations, admin.verifyAudit);
    return !(report instanceof Fault) && report.ok;
  } finally {
    await admin.close();
  }
}

const findingsOf = ({ findings }: CheckReport) => findings.map(({ what }) => what).join('; ');

/** Returns the fault of an error that clearly reports damage. Throws any other error. */
function refusal(error: unknown, { refusals, problems }: TamperLocations): Fault {
  if (error instanceof Fault && [...REFUSALS, ...refusals].includes(error.code)) return error;
  if (error instanceof Error && 'code' in error && problems.includes(String(error.code))) {
    return new Fault('damaged', error.message);
  }
  throw error;
}

async function refusedOr<T>(locations: TamperLocations, work: () => Promise<T>): Promise<T | Fault> {
  return work().catch((error: unknown) => refusal(error, locations));
}

/** Runs doctor and a list with the built command line. Resolves to their wrong exit codes. */
async function askCommandLine(
  name: string,
  vault: TamperVault,
  anchor: string | undefined,
): Promise<readonly string[]> {
  const flags = [...vault.locations.flags(name), '--key-file', vault.keyFile];
  const anchored = anchor === undefined ? [] : ['--anchor', anchor];
  const { code: doctor } = await runVault(['doctor', ...flags, ...anchored], {});
  const { code: list } = await runVault(['tokens', 'list', ...flags], { VAULT_API_KEY: vault.apiKey });
  const codes: readonly FaultCode[] = ['damaged', 'wrong_credential', ...vault.locations.refusals];
  const refused: readonly (number | null)[] = codes.map((code) => FAULTS[code].exit);
  const clear = new Set([0, 3, 4, 5, ...refused]);
  return [
    ...(refused.includes(doctor) ? [] : [`vault doctor exits with ${doctor}`]),
    ...(clear.has(list) ? [] : [`vault tokens list exits with ${list}`]),
  ];
}
