import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { BIN, type Environment, run, serve } from '../scripts/run-vault.ts';
import { type CaseResult, type Line, line } from './figures.ts';
import { makeBenchVault, withFolder, writeCardLines } from './vault.ts';

/** The rows of the small transfer, which shows the minimum memory of the process. */
const FEW = 1_000;

/** Writes the peak of the resident set, in KiB, when the process ends. */
const PROBE = `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.PEAK_FILE, String(process.resourceUsage().maxRSS)));
`;

/** Runs a command; resolves to its output and the peak of its memory in MB. Uses files in `folder`. */
export async function runForPeak(words: readonly string[], env: Environment, folder: string) {
  const [probe, peak] = [path.join(folder, 'probe.mjs'), path.join(folder, 'peak')];
  writeFileSync(probe, PROBE);
  const stdout = await run(['--import', pathToFileURL(probe).href, BIN, ...words], { ...env, PEAK_FILE: peak });
  return { stdout, mb: (Number(readFileSync(peak, 'utf8')) * 1024) / 1e6 };
}

/** Imports and exports `rows` rows; resolves to the peak of each command in MB. */
function peaksOf(rows: number, { overDaemon }: { readonly overDaemon: boolean }) {
  return withFolder(async (folder, bare) => {
    const at = (name: string) => path.join(folder, name);
    const { env, keys } = await makeBenchVault(folder, bare);
    await writeCardLines(at('cards.ndjson'), rows);
    const daemon = overDaemon ? await serve([], env) : undefined;
    const own = { ...(daemon ? { ...bare, VAULT_URL: daemon.url } : env), VAULT_API_KEY: keys.reveal };
    const peakOf = async (words: readonly string[]) => (await runForPeak(words, own, folder)).mb;
    try {
      const imported = await peakOf(['import', at('cards.ndjson')]);
      return { import: imported, export: await peakOf(['export', '--plaintext', '--out', at('out')]) };
    } finally {
      await daemon?.end();
    }
  });
}

/**
 * Measures the peak memory of `vault import` and `vault export`, on the file and over a daemon, for few and many rows.
 */
export async function memory({ tokens }: { readonly tokens: number }): Promise<CaseResult> {
  const rows: Line[] = [];
  for (const target of ['file', 'daemon']) {
    const few = await peaksOf(FEW, { overDaemon: target === 'daemon' });
    const many = await peaksOf(tokens, { overDaemon: target === 'daemon' });
    for (const command of ['import', 'export'] as const) {
      const figures = { few_mb: few[command], many_mb: many[command], growth_mb: many[command] - few[command] };
      rows.push(line('memory', `${command}-${target}`, figures));
    }
  }
  return { title: `Peak memory of the command, ${FEW} rows and ${tokens} rows; Node ${process.versions.node}`, rows };
}
