/**
 * Exits with 1 while package.json or SECURITY.md lacks what only the publisher can fill in. `npm publish` runs it
 * first.
 *
 *   node scripts/check-publisher.ts [FOLDER]      default: this checkout
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './build-output.ts';

const [folder = ROOT] = process.argv.slice(2);
const read = (name: string) => readFileSync(path.join(folder, name), 'utf8');
const manifest = JSON.parse(read('package.json'));
const missing = ['repository', 'homepage', 'bugs'].filter((member) => !manifest[member]);
const complaints = [
  ...missing.map((member) => `package.json: ${member} is missing`),
  ...(/\b(mailto:|https:\/\/)\S+/.test(read('SECURITY.md'))
    ? []
    : ['SECURITY.md: a contact (mailto: or https:) is missing']),
];
for (const complaint of complaints) process.stderr.write(`${complaint}\n`);
process.exitCode = complaints.length > 0 ? 1 : 0;
