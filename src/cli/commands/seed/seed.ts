import { existsSync } from 'node:fs';
import { Fault } from '../../../core/fault.ts';
import type { VaultLocation } from '../../../vault/location.ts';
import { readApiKey } from '../../credential/read-credential.ts';
import { report } from '../../exit/report-failure.ts';
import { outputPath } from '../../files/output-path.ts';
import { FLAGS, type FlagValues, flag, oneShot, VAULT_FLAGS } from '../../flags/global-flags.ts';
import { parseChoice } from '../../flags/quantities.ts';
import { chooseTarget, openTarget } from '../../flags/target.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { writeOut } from '../../output/standard-output.ts';
import { type CommandLine, printing } from '../printing.ts';
import { subcommand } from '../subcommand.ts';
import { applySeed } from './apply-seed.ts';
import { loadSeed } from './seed-document.ts';
import { OUT_FORMATS, printIds, seededIds, seedSummary, withOutFile } from './seed-output.ts';
import { seedSchemaDocument } from './seed-schema.ts';
import { parseSeed, seededRandom } from './seeded-random.ts';

const APPLY_FLAGS = {
  dryRun: oneShot('--dry-run', 'print the changes without making them'),
  ...FLAGS.seed,
  out: flag(
    '--out <path>',
    'a new file (0600) for ids and keys; - prints them instead of the summary',
    'VAULT_SEED_OUT',
  ),
  format: flag('--format <format>', 'with --out: json or dotenv (default: json)', 'VAULT_SEED_FORMAT'),
};

const HELP = `
A seed file is YAML or JSON; \`vault seed schema\` prints its JSON Schema:
  seed: shop
  apps:
    web: { type: public, permissions: [token:create] }
  tokens:
    visa:
      type: card
      data:
        number: "4242424242424242"
        expiration_month: 12
        expiration_year: 2030
      metadata: { made-by: "\${apps.web.id}", owner: "\${env.USER}" }
    people: { generate: person, count: 20 } # or card, bank, ssn

The name of an item is the id of its token, or the name of its application. An apply creates what is missing, and changes what
differs, whoever made it; it deletes nothing. A second apply changes nothing. The API key must belong to a management application.
The private application \`seed: NAME\`, which the first apply makes, creates and changes the tokens. Each apply regenerates its key,
so a second apply of the same seed ends the first.
Reads do not show masks, search indexes and fingerprint expressions: an apply sets them when it creates a token, and when another
member of the token differs.
With --out, an apply prints the API keys that it makes. With --seed, later applies print a key again until the key
is regenerated.
Applications need --file with --seed, because a daemon creates random ids and keys. \`vault serve --dev --seed-file FILE --seed N\`
and \`vault exec --seed-file FILE --seed N\` create the same ids and keys on every machine.

Exit codes: 7 a file is invalid (all errors are printed); 6 two applications have the same name, or a type or a taken id conflicts;
4 another apply of the seed has started.

Examples:
  vault seed apply seed.yaml --dry-run
  vault seed apply seed.yaml --out .env.vault --format dotenv
  vault seed apply seed.yaml --out - > ids.json
  vault seed apply apps.yaml tokens.json`;

/** Throws the fault `usage` when VAULT_SEED would make predictable keys in a vault that is not a `--dev` vault. */
function allowKnownKeys({ file }: VaultLocation, isTyped: boolean): void {
  if (file !== undefined && existsSync(`${file}.dev.json`)) return;
  if (!isTyped) {
    throw new Fault('usage', 'VAULT_SEED makes predictable API keys, and this is not a --dev vault', {
      hint: 'unset VAULT_SEED, or type --seed if the vault is for tests only',
    });
  }
  report('--seed makes predictable API keys: keep no secrets in this vault');
}

const LOST_KEYS = 'pass --out with the first apply; `vault apps regenerate` creates other keys';

/** `vault seed apply`: makes the tenant, applications and tokens match seed files, in a file or through a daemon. */
export const defineSeedApply = printing({
  args: { '<file...>': 'YAML or JSON; - for standard input' },
  flags: { ...APPLY_FLAGS, ...VAULT_FLAGS },
  view: (read) => (read(APPLY_FLAGS).dryRun ? RESULT_VIEWS.seedDryRun : RESULT_VIEWS.seedApply),
  help: HELP,
  work: apply,
});

async function apply(line: CommandLine): Promise<object | undefined> {
  const { dryRun, ...named } = line.read(APPLY_FLAGS);
  const out = outOf(named, 'format' in line.flags, dryRun);
  const seed = parseSeed(named.seed);
  const document = await loadSeed(line.words, line.env, seed ?? 0);
  const target = chooseTarget(line);
  const apiKey = await readApiKey(line);
  if (seed !== undefined && target.url === undefined) allowKnownKeys(target, 'seed' in line.flags);
  const random = seed === undefined || target.url !== undefined ? undefined : seededRandom(seed);
  const noNewApps = seed !== undefined && target.url !== undefined;
  const client = await openTarget(target, line, 'many', { overRandom: random?.over });
  try {
    // Throws before anything is changed.
    if (out !== undefined) printIds(out.format, seededIds({ apps: new Map() }, document));
    const work = async () => {
      const applied = await applySeed(client, apiKey, document, { dryRun, random, noNewApps });
      const text = out === undefined ? '' : printIds(out.format, seededIds(applied, document));
      const hasKeys = [...applied.apps.values()].some(({ key }) => key !== undefined);
      return { text, hasKeys, result: seedSummary(applied, dryRun) };
    };
    if (out?.file !== undefined) return await withOutFile({ ...out, file: out.file }, document, work);
    const { text, hasKeys, result } = await work();
    if (out === undefined) {
      if (hasKeys && random === undefined) {
        report('the API keys were not printed; the vault shows them only once', LOST_KEYS);
      }
      return result;
    }
    const { created, changed, unchanged } = result;
    report(`${created} created, ${changed} changed, ${unchanged} unchanged`);
    await writeOut(text);
    return undefined;
  } finally {
    await client.close();
  }
}

function outOf(
  { out, format: named }: Pick<FlagValues<typeof APPLY_FLAGS>, 'out' | 'format'>,
  isTyped: boolean,
  dryRun: boolean,
) {
  if (out === undefined) {
    if (isTyped) throw new Fault('usage', '--format needs --out', { hint: 'pass --out FILE, or --out - to print' });
    return undefined;
  }
  if (dryRun) throw new Fault('usage', 'only one of --dry-run and --out can be given');
  return { format: parseChoice('--format (VAULT_SEED_FORMAT)', named ?? 'json', OUT_FORMATS), file: outputPath(out) };
}

/** `vault seed schema`: prints the JSON Schema of a seed file, for editors. */
export const defineSeedSchema = subcommand({
  examples: ['vault seed schema > seed.schema.json'],
  async run() {
    await writeOut(`${JSON.stringify(seedSchemaDocument(), null, 2)}\n`);
    return 0;
  },
});
