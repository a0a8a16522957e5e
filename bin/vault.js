#!/usr/bin/env node
// Reading the file is faster than `require`.
const { engines } = JSON.parse(require('node:fs').readFileSync(`${__dirname}/../package.json`, 'utf8'));
const { isInRange } = require('./is-in-range.js');

async function start() {
  // Beside the code: another user who could plant compiled code there could as well change the code itself. Before the
  // build, this would create a `dist` that only this user may read.
  if (exists('dist')) {
    const mask = process.umask(0o077);
    require('node:module').enableCompileCache(`${__dirname}/../dist/cache`);
    process.umask(mask);
  }
  const { main } = await import('../dist/cli/main.js');
  process.exitCode = await main(process.argv.slice(2), { ownsOutput: true });
}

function fail(exitCode, message) {
  process.stderr.write(`vault: ${message}\n`);
  process.exitCode = exitCode;
}

const debug = process.env.VAULT_DEBUG === '1';
const exists = (path) => require('node:fs').existsSync(`${__dirname}/../${path}`);
const hint = exists('src') ? '; npx token-vault in the checkout works' : '';
if (!isInRange(process.versions.node, engines.node)) {
  fail(2, `needs Node.js ${engines.node}, found ${process.versions.node}${hint}`);
} else {
  start().catch(({ stack }) => {
    if (!exists('dist/cli/main.js')) fail(1, 'dist/ is missing\nhint: run `npm run build` in the checkout');
    else fail(1, `unexpected error\n${debug ? stack : 'hint: set VAULT_DEBUG=1 to see where'}`);
  });
}
