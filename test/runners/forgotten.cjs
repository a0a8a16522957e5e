const childProcess = require('node:child_process');
const { renameSync, writeFileSync } = require('node:fs');

const { spawn } = childProcess;

/** Starts a child vault that nothing stops. Writes its URL and the id of its process to the file `forgotten`. */
module.exports = async function forgotten() {
  const ids = [];
  childProcess.spawn = (...args) => {
    const child = spawn(...args);
    ids.push(child.pid);
    return child;
  };
  const { startVault } = require('token-vault/testing');
  const { url } = await startVault({ mode: 'child' });
  writeFileSync('forgotten.part', JSON.stringify({ url, ids }));
  renameSync('forgotten.part', 'forgotten');
};
