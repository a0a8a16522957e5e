/**
 * Measures the built product. Figures are for reading: a slow machine is not a failure, so the exit code says only
 * whether the measuring itself worked.
 *
 *   npm run bench -- [startup] [http] [snapshot] [transfer] [memory] [--rounds N] [--json] [--own-environment]
 *
 * Commands run in an environment of a few fixed variables. With --own-environment they get this shell's instead, without
 * the vault's: some variables, such as NODE_EXTRA_CA_CERTS, make a bare Node slower and every ratio smaller.
 */
import { parseArgs } from 'node:util';
import { http } from './bench-http.js';
import { importing } from './bench-import.js';
import { memory } from './bench-memory.js';
import { startup } from './bench-startup.js';
import { snapshot, transfer } from './bench-transfer.js';

/** Each takes the options below and gives `{ title, rows }`; a row is flat, its members are the columns. */
const CASES = { startup, http, import: importing, snapshot, transfer, memory };
const ROUNDS = { startup: 30, http: 5, import: 1, snapshot: 5, transfer: 1, memory: 1 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string', default: '2' },
    tokens: { type: 'string', default: '100000' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    'own-environment': { type: 'boolean', default: false },
  },
});
const [rounds, seconds, tokens] = [values.rounds ?? '1', values.seconds, values.tokens].map(Number);
const unknown = positionals.filter((name) => !Object.hasOwn(CASES, name));
if (unknown.length > 0 || !Number.isInteger(rounds) || rounds < 1 || !(seconds > 0) || !(tokens > 0)) {
  process.stderr.write(
    `bench: give --rounds from 1, --seconds, --tokens, and of the cases: ${Object.keys(CASES).join(', ')}\n`,
  );
  process.exit(2);
}

function table(rows) {
  const columns = Object.keys(rows[0]);
  const lines = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? '')))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index].length)));
  return lines
    .map((line) =>
      line.map((cell, index) => (index === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[index]))).join('  '),
    )
    .join('\n');
}

for (const name of positionals.length > 0 ? positionals : Object.keys(CASES)) {
  const { title, rows } = await CASES[name]({
    rounds: values.rounds === undefined ? ROUNDS[name] : rounds,
    seconds,
    tokens,
    only: values.only?.split(','),
    ownEnvironment: values['own-environment'],
  });
  if (values.json) for (const row of rows) process.stdout.write(`${JSON.stringify({ bench: name, ...row })}\n`);
  else process.stdout.write(`${title}\n\n${table(rows)}\n\n`);
}
