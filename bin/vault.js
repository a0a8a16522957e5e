#!/usr/bin/env node
const { engines } = require('../package.json');
const { isInRange } = require('./is-in-range.js');

async function start() {
  // The shared folder for temporary files is no place for code: its cache goes to the user's own.
  require('node:module').enableCompileCache(`${require('node:os').homedir()}/.cache/token-vault`);
  const { main } = await import('../dist/cli/main.js');
  process.exitCode = await main(process.argv.slice(2), { ownsOutput: true });
}

function fail(exitCode, message) {
  process.stderr.write(`vault: ${message}\n`);
  process.exitCode = exitCode;
}

if (!isInRange(process.versions.node, engines.node)) {
  const hint = require('node:fs').existsSync(`${__dirname}/../src`) ? '; npx vault runs on the right one' : '';
  fail(2, `needs Node.js ${engines.node}, found ${process.versions.node}${hint}`);
} else {
  start().catch(({ stack }) => {
    fail(1, `unexpected error\n${process.env.VAULT_DEBUG === '1' ? stack : 'hint: VAULT_DEBUG=1 shows where'}`);
  });
}
