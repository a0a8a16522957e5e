import type { Client } from '../../../contract/call.ts';
import { Fault } from '../../../core/fault.ts';
import { parseJson } from '../../../core/json/parse.ts';
import { stringifyJson } from '../../../core/json/stringify.ts';
import { readApiKey, readCredential } from '../../credential/read-credential.ts';
import { accepted } from '../../exit/refused-reply.ts';
import { outputPath, requireLines } from '../../files/output-path.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import { FLAGS, flag, oneShot } from '../../flags/global-flags.ts';
import { chooseTarget, openTarget } from '../../flags/target.ts';
import { pagesOf } from '../../operation/list-all.ts';
import { progressLine } from '../../output/progress-line.ts';
import { itemsOf } from '../../output/result-view.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import { selectField } from '../../output/select-field.ts';
import { isTerminal, writeOut } from '../../output/standard-output.ts';
import { type CommandLine, printing } from '../printing.ts';
import { encryptPieces } from './age-file.ts';
import { chooseEncryption, ENCRYPT_FLAGS } from './age-keys.ts';
import type { ExportRow } from './export-csv.ts';

const EXPORT_FLAGS = {
  out: flag('--out <path>', 'a new file (0600); - is standard output (default)'),
  format: flag('--format <format>', 'ndjson or csv (default: ndjson)', 'VAULT_EXPORT_FORMAT'),
  masked: oneShot('--masked', 'export only the masked forms, in plaintext by default; not with --url'),
  tenant: flag('--tenant <name>', 'the tenant to export, by name or id (default: the only one)', 'VAULT_TENANT_ID'),
};

const HELP = `
With --file or --store, the export needs the key of the vault but no API key. It contains every token of the tenant with its definitions,
so \`vault import\` creates the same tokens in another vault. With --url, it contains the tokens as the API key reads them,
without masks, search indexes and fingerprint expressions, as a CSV always is. \`vault import\` reads
both formats. Other commands may write during the export.`;

/** The source of the rows. */
interface Source {
  readonly view: 'full' | 'masked' | 'api';
  pages(progress: (total: number) => void): AsyncIterable<readonly ExportRow[]>;
  close(): Promise<void>;
}

/** `vault export`: writes the tokens to an age file, or in plaintext with --plaintext. */
export const defineExport = printing({
  flags: { ...EXPORT_FLAGS, ...ENCRYPT_FLAGS, ...FLAGS.daemon, ...FLAGS.file, ...FLAGS.key, ...FLAGS.profile },
  view: RESULT_VIEWS.export,
  help: HELP,
  examples: [
    'vault export --recipient age1… --out tokens.age',
    'vault export --masked --format csv --out masked.csv',
    'vault export --url http://127.0.0.1:8484 \\\n    --age-passphrase-file phrase.txt --out tokens.age',
  ],
  work: exportTokens,
});

async function exportTokens(command: CommandLine): Promise<object | undefined> {
  const { format: name = 'ndjson', masked, tenant, ...named } = command.read(EXPORT_FLAGS);
  if (name !== 'ndjson' && name !== 'csv') throw new Fault('usage', '--format must be ndjson or csv');
  const out = outputPath(named.out);
  if (out === undefined) requireLines(command.flags, 'use --format csv for CSV rows');
  const encryption = await chooseEncryption(command.read(ENCRYPT_FLAGS), { sharable: masked });
  if (out === undefined && encryption !== undefined && isTerminal()) {
    throw new Fault('usage', 'an encrypted export cannot be printed on a terminal', { hint: 'set --out (VAULT_OUT)' });
  }
  const source = await openSource(command, masked, tenant);
  const line = progressLine('exporting');
  let tokens = 0;
  try {
    const encrypter = await encryption?.makeEncrypter();
    const text = printRows(source, name === 'csv', (done, total) => {
      tokens = done;
      line.show(done, Math.max(done, total));
    });
    const pieces = encrypter === undefined ? text : encryptPieces(encrypter, text);
    if (out === undefined) for await (const piece of pieces) await writeOut(piece);
    else await writeWholeFile('--out', out, pieces);
  } finally {
    line.end();
    await source.close();
  }
  return out === undefined ? undefined : { file: out, tokens, view: source.view, encrypted: encryption?.by ?? 'no' };
}

async function openSource(line: CommandLine, masked: boolean, tenant: string | undefined): Promise<Source> {
  const target = chooseTarget(line);
  if (target.url !== undefined) {
    if (masked) {
      throw new Fault(
        'usage',
        '--masked works only with --file and --store; a daemon masks according to the rules of the API key',
        { hint: 'export with the key of an application whose rules mask' },
      );
    }
    const apiKey = await readApiKey(line);
    const client = await openTarget(target, line, 'many');
    return { view: 'api', pages: (onTotal) => pageExport(client, apiKey, onTotal), close: () => client.close() };
  }
  const credential = await readCredential(target, line);
  const { openTokenExport } = await import('../../../vault/open-token-export.ts');
  const view = masked ? 'masked' : 'full';
  const opened = await openTokenExport({ ...target, credential, tenantId: tenant, view });
  return {
    view,
    pages(onTotal) {
      onTotal(opened.total);
      return opened.pages();
    },
    close: () => opened.close(),
  };
}

/** The members of a token in a reply that Create Token accepts, too. */
const MEMBERS = ['id', 'type', 'data', 'containers', 'metadata', 'expires_at'] as const;

/**
 * Yields pages of the tokens that an API key may read, as rows of an export. Pages by cursor, so each token appears
 * only once even if others are deleted meanwhile. Throws `RefusedReply`.
 */
export async function* pageExport(
  client: Client,
  apiKey: string,
  onTotal: (total: number) => void,
): AsyncGenerator<readonly ExportRow[]> {
  const list = { operation: 'listTokens', apiKey, params: {}, query: [] } as const;
  const first = accepted(await client.call({ ...list, query: [['size', '1']] }));
  onTotal(Number(selectField(parseJson(first.bodyText ?? ''), ['pagination', 'total_items'])));
  for await (const page of pagesOf(client, list)) {
    yield itemsOf(page, { list: true }).map((item) =>
      Object.fromEntries(MEMBERS.map((member) => [member, selectField(item, [member])])),
    );
  }
}

/** Yields the rows as text, page by page. */
async function* printRows(
  source: Source,
  isCsv: boolean,
  progress: (done: number, total: number) => void,
): AsyncGenerator<string> {
  const csv = isCsv ? await import('./export-csv.ts') : undefined;
  let [done, total] = [0, 0];
  const pages = source.pages((count) => {
    total = count;
  });
  if (csv !== undefined) yield await csv.exportHeader();
  for await (const rows of pages) {
    done += rows.length;
    progress(done, total);
    if (rows.length > 0) yield csv === undefined ? rows.map(printLine).join('') : await csv.exportLines(rows);
  }
}

const printLine = (row: ExportRow): string => `${stringifyJson(row)}\n`;
