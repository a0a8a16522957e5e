import { parseArgs } from 'node:util';

/**
 * Parses the flags of a script with `parseArgs`. `--help` prints `usage` and exits with 0; an unknown flag prints one
 * line and exits with 2.
 */
export function parseFlags(name, usage, config) {
  let parsed;
  try {
    parsed = parseArgs({ ...config, options: { ...config.options, help: { type: 'boolean', short: 'h' } } });
  } catch (error) {
    process.stderr.write(`${name}: ${error.message}\nusage: ${usage}\n`);
    process.exit(2);
  }
  if (parsed.values.help) {
    process.stdout.write(`usage: ${usage}\n`);
    process.exit(0);
  }
  return parsed;
}
