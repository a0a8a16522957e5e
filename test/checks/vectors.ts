import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { openEnvelope, SUITE } from '../../src/keyring/envelope.ts';
import { loadSodium } from '../../src/keyring/sodium.ts';
import { damageRowOf, type Frozen, frozenFormats, thaw } from '../vectors/frozen-vault-files.ts';
import { readTable, readVectors } from '../vectors/read-vectors.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { ENVIRONMENT, VAULT_BIN } from './daemon-process.ts';
import { inParallel, seededNumbers } from './perform.ts';
import { startServedVault } from './served-vault.ts';

const APPENDIX_A_CASES = 15;
const execute = promisify(execFile);
const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));

/** Alters known results, for the control. */
interface Flaw {
  readonly random?: () => number;
}

/** The number of cases, and the cases with a wrong result. */
interface Held {
  readonly cases: number;
  readonly wrong: readonly string[];
}

/** Patches a member of `data` through the daemon. The patch `null` removes the member. */
async function mergePatches({ random }: Flaw): Promise<Held> {
  const rows = readTable('merge-patch').filter(({ part }) => part.startsWith('RFC 7396'));
  if (rows.length !== APPENDIX_A_CASES) throw new CheckFailure(`appendix A has ${rows.length} cases`);
  const wrong: string[] = [];
  await using vault = await startServedVault();
  for (const {
    fields: [target, patch, result],
  } of rows) {
    const create = `{"type":"token","data":{"member":${target}}}`;
    const made = await vault.remote(vault.everything, 'createToken', { bodyText: create });
    const parts = { id: String(made.body['id']), bodyText: `{"data":{"member":${patch}}}` };
    await vault.remote(vault.everything, 'updateToken', parts);
    const { text } = await vault.remote(vault.everything, 'getToken', { id: parts.id });
    const expected = result === 'null' ? '{}' : `{"member":${random ? `[${result}]` : result}}`;
    if (!text.includes(`"data":${expected},`)) wrong.push(`RFC 7396: ${target} + ${patch} became ${text}`);
  }
  return { cases: rows.length, wrong };
}

/** Opens the test vector of the draft with the product's cipher. */
async function xchacha({ random }: Flaw): Promise<Held> {
  const vector = readVectors<Record<'key' | 'nonce' | 'aad' | 'plaintext' | 'ciphertext' | 'tag', string>>('xchacha');
  const key = bytes(vector.key);
  const envelope = bytes(`0${SUITE}00000007${vector.nonce}${vector.ciphertext}${vector.tag}`);
  if (random) flipBit(envelope, 5 + Math.floor(random() * (envelope.length - 5)), random);
  const wrong: string[] = [];
  try {
    const opened = openEnvelope(await loadSodium(), key, bytes(vector.aad), envelope);
    if (Buffer.from(opened).toString('hex') !== vector.plaintext) wrong.push('XChaCha20-Poly1305: another plaintext');
  } catch {
    wrong.push('XChaCha20-Poly1305: does not open');
  }
  return { cases: 1, wrong };
}

function flipBit(data: Uint8Array, at: number, random: () => number): void {
  data[at] = (data[at] ?? 0) ^ (1 << Math.floor(random() * 8));
}

const damageFirst = (bytes: Buffer, { answers }: Frozen) => damageRowOf(answers[0]?.params['id'] ?? '')(bytes);

/** Asks the built command line every question that was frozen with a file, and opens each file with its passphrase. */
async function frozenFiles({ random }: Flaw): Promise<Held> {
  const wrong: string[] = [];
  let cases = 0;
  for (const format of frozenFormats()) {
    const vault = thaw(format, random && damageFirst);
    const ask = async (words: readonly string[], apiKey: string, opening: Record<string, string>) => {
      const env = { ...ENVIRONMENT, VAULT_FILE: vault.file, VAULT_API_KEY: apiKey, ...opening };
      const { stdout } = await execute(process.execPath, [VAULT_BIN, ...words], { env }).catch(() => ({ stdout: '' }));
      return stdout.trimEnd();
    };
    try {
      await inParallel(vault.answers.length, 2, async (index) => {
        const { words, apiKey, bodyText } = vault.answers[index] ?? { words: [], apiKey: '', bodyText: '' };
        if ((await ask(words, apiKey, { VAULT_KEY_FILE: vault.keyFile })) === bodyText) return;
        wrong.push(`format ${format}: vault ${words.join(' ')} answers otherwise`);
      });
      const [first] = vault.answers;
      const opened = await ask(first?.words ?? [], first?.apiKey ?? '', {
        VAULT_PASSPHRASE_FILE: vault.passphraseFile,
      });
      if (opened !== first?.bodyText) wrong.push(`format ${format}: the passphrase does not open it`);
      cases += vault.answers.length + 1;
    } finally {
      vault.remove();
    }
  }
  return { cases, wrong };
}

const PARTS = { rfc_7396_cases: mergePatches, xchacha_cases: xchacha, frozen_answers: frozenFiles } as const;

async function run(): Promise<Figures> {
  const figures: Record<string, number> = { frozen_formats: frozenFormats().length };
  const wrong: string[] = [];
  for (const [name, hold] of Object.entries(PARTS)) {
    const held = await hold({});
    figures[name] = held.cases;
    wrong.push(...held.wrong);
  }
  if (wrong[0] !== undefined) throw new CheckFailure(wrong[0], { ...figures, wrong: wrong.length });
  return figures;
}

/** Changes one value in each part. Resolves when a part does not detect its change. */
async function control({ seed }: CheckOptions): Promise<void> {
  const random = seededNumbers(seed);
  const noticed: string[] = [];
  for (const hold of Object.values(PARTS)) {
    const { wrong } = await hold({ random });
    if (wrong[0] === undefined) return;
    noticed.push(wrong[0]);
  }
  throw new CheckFailure(noticed.join('; '));
}

export const CHECK: Check = { number: 11, name: 'vectors', quick: true, run, control };
