#!/usr/bin/env node
const fs = require('node:fs');
const path = require('node:path');
const { Script } = require('node:vm');
const { engines } = require('../package.json');

/** Returns whether `version` is in `range`, a list of `^1.2.3` and `>=1` joined by ` || `. Node 14 reads this file. */
function isInRange(version, range) {
  const [major, minor, patch] = version.split('.').map(Number);
  return range.split(' || ').some((part) => {
    const [low, lowMinor = 0, lowPatch = 0] = part.replace(/^\D+/, '').split('.').map(Number);
    if (major !== low) return part.startsWith('>=') && major > low;
    return minor !== lowMinor ? minor > lowMinor : patch >= lowPatch;
  });
}

if (!isInRange(process.versions.node, engines.node)) {
  const hint = fs.existsSync(path.join(__dirname, '../src'))
    ? '; in this checkout, npx vault runs on the right one'
    : '';
  process.stderr.write(`vault: needs Node.js ${engines.node}, found ${process.versions.node}${hint}\n`);
  process.exit(2);
}

const MAIN = path.join(__dirname, '../dist/cli/main.cjs');

/** What has been loaded, by path. */
const loaded = new Map();

/** A file of dist/, compiled with the code beside it that V8 made of it when the product was built, if V8 takes it. */
function compile(file) {
  const source = fs.readFileSync(file, 'latin1'); // ASCII, says the build
  let cachedData;
  try {
    cachedData = fs.readFileSync(`${file}.cache`);
  } catch {}
  return new Script(source, { filename: file, cachedData });
}

/** `require` for the files of dist/. To compile them anew at each start would be half of it. */
function load(file, compiled) {
  const known = loaded.get(file);
  if (known !== undefined) return known.module.exports;
  const script = compiled ?? compile(file);
  const module = { exports: {} };
  loaded.set(file, { script, module });
  const folder = path.dirname(file);
  const requireFrom = (name) => (name.startsWith('.') ? load(path.join(folder, name)) : require(name));
  script.runInThisContext()(module.exports, requireFrom, module, folder);
  return module.exports;
}

/** With the code of another V8 it starts later. Node's own cache is no help: it stands where other users may write. */
function loadMain() {
  const script = compile(MAIN);
  return script.cachedDataRejected === false ? load(MAIN, script) : require(MAIN);
}

async function start(argv) {
  if (!fs.existsSync(MAIN)) {
    process.stderr.write('vault: not built: run npm run build\n');
    return 1;
  }
  return loadMain().main(argv, { ownsOutput: true });
}

if (require.main === module) {
  start(process.argv.slice(2)).then(
    (exitCode) => {
      process.exitCode = exitCode;
    },
    (error) => {
      const debug = process.env.VAULT_DEBUG === '1';
      process.stderr.write(
        `vault: unexpected error\n${debug ? `${error.stack}\n` : 'hint: VAULT_DEBUG=1 shows where\n'}`,
      );
      process.exitCode = 1;
    },
  );
} else {
  module.exports = { load, loaded }; // for scripts/record-code-cache.js
}
