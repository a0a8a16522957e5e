#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';

module.enableCompileCache?.();

const MAIN = new URL('../dist/cli/main.js', import.meta.url);

async function run(argv) {
  if (argv.length === 1 && argv[0] === '--version') {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    process.stdout.write(`vault ${version}\n`);
    return 0;
  }
  if (!existsSync(MAIN)) {
    process.stderr.write('vault: not built: run npm run build\n');
    return 1;
  }
  const { main } = await import(MAIN.href);
  return main(argv);
}

process.exitCode = await run(process.argv.slice(2));
