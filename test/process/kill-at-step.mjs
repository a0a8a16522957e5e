/**
 * Loaded into a command before its own code: counts its steps on the disk (statements of SQLite, calls that change files), and
 * kills it at step KILL_AT, before the step when that is odd, after it when it is even. Without KILL_AT it writes their number
 * to STEPS_FILE at the end.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';

const { KILL_AT, STEPS_FILE, VAULT_BIN } = process.env;
const killAt = Number(KILL_AT ?? 0);
let steps = 0;

function die() {
  process.kill(process.pid, 'SIGKILL');
  // Where the signal is not there at once, nothing more is done until it is.
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
watch(fs.promises, ['link', 'rename', 'rm', 'mkdir']);

process.on('exit', () => {
  if (STEPS_FILE !== undefined) fs.writeFileSync(STEPS_FILE, String(steps));
});
