const childProcess = require('node:child_process');
const { renameSync, writeFileSync } = require('node:fs');

const { spawn } = childProcess;

/**
 * Starts a vault that nothing stops, in a child process unless `RUNNERS_MODE` is `in-process`. Writes its URL and the
 * id of the child to the file `forgotten`.
 */
module.exports = async function forgotten() {
  const ids = [];
  childProcess.spawn = (...args) => {
    const child = spawn(...args);
    ids.push(child.pid);
    return child;
  };
  const { startVault } = require('token-vault/testing');
  const { url } = await startVault({ mode: process.env.RUNNERS_MODE ?? 'child' });
  writeFileSync('forgotten.part', JSON.stringify({ url, ids }));
  renameSync('forgotten.part', 'forgotten');
};
