/**
 * Runs the commands that are to start fast in this one process, and writes down what V8 has compiled by then: the
 * functions that they call, and no others. Then come those of the operations. For scripts/build-code-cache.js, in the
 * environment of a vault.
 *
 *   node scripts/record-code-cache.js TOKEN READY-FILE
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT, writeIfChanged } from './build-output.js';

const { load, loaded } = createRequire(import.meta.url)('../bin/vault.js');
const { main } = load(path.join(ROOT, 'dist/cli/main.cjs'));
const [token, readyFile] = process.argv.slice(2);

async function vault(...words) {
  const exitCode = await main(words);
  if (exitCode !== 0) throw new Error(`vault ${words.join(' ')} ended with ${exitCode}`);
}

async function ready() {
  for (;;) {
    const text = await readFile(readyFile, 'utf8').catch(() => undefined);
    if (text !== undefined) return JSON.parse(text);
    await sleep(10);
  }
}

const written = new Set();
let bytes = 0;

/** Of each file that was loaded since: what comes later adds nothing to the files of the commands before. */
async function writeCaches() {
  for (const [file, { script }] of loaded) {
    if (written.has(file)) continue;
    written.add(file);
    const cache = script.createCachedData();
    await writeIfChanged(`${file}.cache`, cache);
    bytes += cache.length;
  }
}

await vault('--version');
await vault('--help');
await vault('tokens', 'get', token);
const served = vault('serve', '--port', '0', '--ready-file', readyFile);
const { url } = await Promise.race([ready(), served]);
await vault('tokens', 'get', token, '--url', url);
process.emit('SIGTERM');
await served;
await writeCaches();
await vault('tokens', 'list');
await vault('tokens', 'create', '--type', 'token', '--data', '"4242"');
await writeCaches();
process.stdout.write(`\n${loaded.size} files, ${Math.round(bytes / 1024)} KiB\n`);
