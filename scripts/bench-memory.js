import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { writeTokenLines } from './bench-transfer.js';
import { BIN, bareEnvironment, run } from './run-vault.js';

/** What a process needs for few rows, and for many. Its growth is what lies between. */
const FEW = 1_000;

/** Writes the peak of the resident set, in KiB, when the process ends. */
const PROBE = `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.PEAK_FILE, String(process.resourceUsage().maxRSS)));
`;

/** Runs the command and answers its peak in MiB. */
async function peakOf(folder, args, env) {
  const PEAK_FILE = path.join(folder, 'peak');
  const probe = path.join(folder, 'probe.mjs');
  writeFileSync(probe, PROBE);
  await run(['--import', pathToFileURL(probe).href, BIN, ...args], { ...env, PEAK_FILE });
  return Number(readFileSync(PEAK_FILE, 'utf8')) / 1024;
}

/** Calls `work` with the URL of a daemon on the file. */
async function served(folder, env, work) {
  const ready = path.join(folder, 'ready.json');
  const words = [BIN, 'serve', '--port', '0', '--log', 'false', '--ready-file', ready];
  const child = spawn(process.execPath, words, { env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  try {
    while (!existsSync(ready) && child.exitCode === null) await sleep(10);
    return await work(JSON.parse(readFileSync(ready, 'utf8')).url);
  } finally {
    child.kill();
    await ended;
  }
}

/** `vault import` and `vault export`, on the file and over a daemon: peak memory of the command, for few rows and for many. */
export async function memory({ tokens, ownEnvironment }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-bench-'));
  try {
    const bare = bareEnvironment(folder, { own: ownEnvironment });
    const empty = path.join(folder, 'empty.db');
    const json = async (args, env) => JSON.parse(await run([BIN, ...args, '--output', 'json'], { ...bare, ...env }));
    const { application } = await json(['init', '--file', empty]);
    const rule = 'container=/ transform=reveal permissions=token:create,token:read,token:update,token:delete';
    const words = ['apps', 'create', '--name', 'bench', '--type', 'private', '--rule', rule];
    const { key: VAULT_API_KEY } = await json(words, { VAULT_FILE: empty, VAULT_API_KEY: application.key });

    const peaks = {};
    for (const rows of [FEW, tokens]) {
      const lines = path.join(folder, `${rows}.ndjson`);
      await writeTokenLines(lines, rows);
      const vaultOf = (name) => {
        const file = path.join(folder, `${rows}-${name}.db`);
        for (const suffix of ['', '.key']) copyFileSync(empty + suffix, file + suffix);
        return { ...bare, VAULT_FILE: file, VAULT_API_KEY };
      };
      const out = (name) => ['export', '--plaintext', '--out', path.join(folder, `${rows}-${name}.out`)];
      const direct = vaultOf('direct');
      const peak = async (what, args, env) => {
        peaks[what] = [...(peaks[what] ?? []), await peakOf(folder, args, env)];
      };
      await peak('import, file', ['import', lines], direct);
      await peak('export, file', out('direct'), direct);
      const remote = vaultOf('remote');
      await served(folder, remote, async (VAULT_URL) => {
        const env = { ...bare, VAULT_URL, VAULT_API_KEY };
        await peak('import, daemon', ['import', lines], env);
        await peak('export, daemon', out('remote'), env);
      });
    }
    const mb = (value) => Math.round(value);
    const rows = Object.entries(peaks).map(([command, [few, many]]) => ({
      command,
      [`MB, ${FEW} rows`]: mb(few),
      [`MB, ${tokens} rows`]: mb(many),
      growth: mb(many - few),
    }));
    return { title: `Peak memory of the command, ${FEW} rows against ${tokens}`, rows };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
