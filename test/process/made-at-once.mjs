/**
 * Preloaded into a command. Runs another command (ANOTHER, a list of words) from start to end at a critical moment:
 * with AT=link, before the first command gives its new vault a name; else before it locks the vault to add a key.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';

const { ANOTHER = '[]', AT, VAULT_BIN } = process.env;
let hasRun = false;

function runAnother() {
  if (hasRun) return;
  hasRun = true;
  const env = { ...process.env, NODE_OPTIONS: '' };
  const { status } = spawnSync(process.execPath, [VAULT_BIN, ...JSON.parse(ANOTHER)], { env, stdio: 'ignore' });
  if (status !== 0) throw new Error('the other command has failed');
}

if (AT === 'link') {
  const { link } = fs.promises;
  fs.promises.link = (...words) => {
    runAnother();
    return link(...words);
  };
} else {
  const Database = createRequire(VAULT_BIN)('better-sqlite3');
  const sample = new Database(':memory:');
  const prototype = Object.getPrototypeOf(sample.prepare('SELECT 1'));
  sample.close();
  const { run } = prototype;
  prototype.run = function (...words) {
    if (this.source === 'BEGIN IMMEDIATE') runAnother();
    return run.apply(this, words);
  };
}
