import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { line, median } from './bench-figures.js';
import { BIN, bareEnvironment, run } from './run-vault.js';

const SNAPSHOT_TOKENS = 10_000;
const TRANSFER_TOKENS = 100_000;

/** Lines for `vault import`: a number and a text each, with a mask and metadata. */
export async function writeTokenLines(file, count) {
  const out = createWriteStream(file);
  for (let n = 0; n < count; n += 1) {
    const body = { id: `row-${n}`, type: 'token', data: { n, text: 'x'.repeat(40) }, mask: '{{ data.n }}' };
    const line = `${JSON.stringify({ ...body, metadata: { batch: `b${n % 100}` } })}\n`;
    if (!out.write(line)) await new Promise((resolve) => out.once('drain', resolve));
  }
  out.end();
  await finished(out);
}

/** A vault in a folder of its own, and `time`: a command on it from its start to its end, in milliseconds. */
async function withVault(ownEnvironment, work) {
  const folder = mkdtempSync(path.join(tmpdir(), 'vault-bench-'));
  try {
    const bare = bareEnvironment(folder, { own: ownEnvironment });
    const file = path.join(folder, 'vault.db');
    const vault = (args, env = {}) => run([BIN, ...args], { ...bare, VAULT_FILE: file, ...env });
    const { application } = JSON.parse(await vault(['init', '--output', 'json']));
    const rule = 'container=/ transform=reveal permissions=token:create,token:read,token:update,token:delete';
    const words = ['apps', 'create', '--name', 'bench', '--type', 'private', '--rule', rule, '--field', 'key'];
    const VAULT_API_KEY = (await vault(words, { VAULT_API_KEY: application.key })).trim();
    const time = async (args) => {
      const started = performance.now();
      await vault(args, { VAULT_API_KEY });
      return performance.now() - started;
    };
    return await work({ folder, vault, time });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `vault snapshot save`, `vault reset`, `vault snapshot load`: whole commands, the start of Node included. */
export function snapshot({ rounds, ownEnvironment }) {
  return withVault(ownEnvironment, async ({ folder, time }) => {
    const lines = path.join(folder, 'tokens.ndjson');
    await writeTokenLines(lines, SNAPSHOT_TOKENS);
    await time(['import', lines]);
    const steps = {
      save: ['snapshot', 'save', 'bench', '--replace'],
      reset: ['reset', '--yes'],
      load: ['snapshot', 'load', 'bench', '--yes'],
    };
    const times = Object.fromEntries(Object.keys(steps).map((name) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, args] of Object.entries(steps)) times[name].push(await time(args));
    }
    const rows = Object.entries(times).map(([step, values]) => line('snapshot', step, { ms: median(values) }));
    const together = line('snapshot', 'together', { ms: rows.reduce((sum, { ms }) => sum + ms, 0) });
    return { title: `Snapshots of ${SNAPSHOT_TOKENS} tokens, medians of ${rounds}`, rows: [...rows, together] };
  });
}

/** `vault import` and `vault export` of one file, once each. */
export function transfer({ ownEnvironment }) {
  return withVault(ownEnvironment, async ({ folder, vault, time }) => {
    const lines = path.join(folder, 'tokens.ndjson');
    await writeTokenLines(lines, TRANSFER_TOKENS);
    const recipient = (await vault(['keygen', '--out', path.join(folder, 'secret'), '--field', 'recipient'])).trim();
    const steps = {
      import: ['import', lines],
      'export-plaintext': ['export', '--plaintext', '--out', path.join(folder, 'plain')],
      'export-sealed': ['export', '--recipient', recipient, '--out', path.join(folder, 'sealed')],
    };
    const rows = [];
    for (const [step, args] of Object.entries(steps)) {
      const ms = await time(args);
      rows.push(line('transfer', step, { ms, per_second: (TRANSFER_TOKENS / ms) * 1000 }));
    }
    return { title: `${TRANSFER_TOKENS} tokens, once each`, rows };
  });
}
