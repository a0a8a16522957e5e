import { type ParseArgsConfig, parseArgs } from 'node:util';

/**
 * Parses the flags of a script with `parseArgs`. `--help` prints `usage` and exits with 0; an unknown flag prints one
 * line and exits with 2.
 */
export function parseFlags<const T extends ParseArgsConfig>(name: string, usage: string, config: T) {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(`usage: ${usage}\n`);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : error}\nusage: ${usage}\n`);
    process.exit(2);
  }
}
