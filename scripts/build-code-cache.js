import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ROOT, writeIfChanged } from './build-output.js';
import { bareEnvironment, makeVault, run } from './run-vault.js';

const DIST = path.join(ROOT, 'dist');
/** Says what the caches were made of. */
const STAMP = path.join(DIST, 'code-cache.json');

/** What the recorder says last. */
const SUMMARY = /^\d+ files, \d+ KiB$/;

async function stampOf(files) {
  const hash = createHash('sha256').update(
    `${process.version} ${process.versions.v8} ${process.platform} ${process.arch}\n`,
  );
  for (const file of files) hash.update(`${path.relative(DIST, file)}\n`).update(await readFile(file));
  return `${JSON.stringify({ node: process.version, made_of: hash.digest('hex') })}\n`;
}

/**
 * Puts V8's compiled code of the commands that are to start fast beside the bundle, as `*.cjs.cache`. It is V8's own
 * format, for the very version of V8 that made it: any other refuses it and compiles the bundle as if it were not there.
 */
export async function makeCodeCache() {
  const folders = ['cli', 'chunks'].map((name) => path.join(DIST, name));
  const names = await Promise.all(folders.map((folder) => readdir(folder)));
  const chunks = names.flatMap((list, index) =>
    list
      .filter((name) => name.endsWith('.cjs'))
      .sort()
      .map((name) => path.join(folders[index], name)),
  );
  const recorder = ['bin/vault.js', 'scripts/record-code-cache.js'].map((name) => path.join(ROOT, name));
  const stamp = await stampOf([...recorder, ...chunks]);
  if ((await readFile(STAMP, 'utf8').catch(() => undefined)) === stamp) return 'unchanged';

  const home = await mkdtemp(path.join(os.tmpdir(), 'vault-build-'));
  try {
    const made = await makeVault(home, 'vault', bareEnvironment(home));
    const said = await run([recorder[1], made.token, path.join(home, 'ready.json')], made.env);
    const summary = said.trim().split('\n').at(-1);
    if (!SUMMARY.test(summary)) throw new Error(`the recorder ended before its end: ${summary}`);
    await writeIfChanged(STAMP, stamp);
    return summary;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
