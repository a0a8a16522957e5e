import { parseArgs } from 'node:util';

/**
 * The flags of a script, as `parseArgs` reads them. `--help` prints `usage` and ends the process with 0; a word that the
 * script does not know ends it with 2, and says so in a line, not by a stack trace.
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
