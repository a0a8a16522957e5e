/**
 * Preloaded into a command. Counts its steps on the disk (SQLite statements and calls that change files) and kills it
 * at step KILL_AT: before an odd step, after an even one. KILL_AFTER_LINK is the number of the hard link after which it
 * is killed. Without these, writes the number of steps to STEPS_FILE at exit.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';

const { KILL_AT, KILL_AFTER_LINK, STEPS_FILE, VAULT_BIN } = process.env;
const killAt = Number(KILL_AT ?? 0);
let steps = 0;

function die() {
  process.kill(process.pid, 'SIGKILL');
  // The signal may arrive late. Do nothing else until then.
  for (;;);
}

function watch(owner, names) {
  for (const name of names) {
    const original = owner[name];
    if (typeof original !== 'function') continue;
    owner[name] = function (...words) {
      steps += 1;
      const isLast = steps === killAt;
      if (isLast && killAt % 2 === 1) die();
      const result = original.apply(this, words);
      if (isLast) die();
      return result;
    };
  }
}

const Database = createRequire(VAULT_BIN)('better-sqlite3');
const sample = new Database(':memory:');
const statement = sample.prepare('SELECT 1');
watch(Object.getPrototypeOf(statement), ['run', 'get', 'all']);
for (const symbol of Object.getOwnPropertySymbols(sample)) {
  const native = sample[symbol];
  if (typeof native?.exec === 'function') watch(Object.getPrototypeOf(native), ['exec']);
}
sample.close();
const handle = await fs.promises.open(process.execPath);
watch(Object.getPrototypeOf(handle), ['writeFile', 'write', 'sync']);
await handle.close();
const { link } = fs.promises;
let links = 0;
fs.promises.link = async (...words) => {
  await link(...words);
  links += 1;
  if (links === Number(KILL_AFTER_LINK)) die();
};
watch(fs.promises, ['link', 'rename', 'rm', 'mkdir', 'chmod']);

process.on('exit', () => {
  if (STEPS_FILE !== undefined) fs.writeFileSync(STEPS_FILE, String(steps));
});
