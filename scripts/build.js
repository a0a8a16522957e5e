/**
 * Generates all files that are not written by hand. Writes only files whose content changed, so a build does not
 * disturb running tests.
 *
 *   node scripts/build.js [validators|bundle|types …]      default: all steps, in this order
 *
 *   validators  src/**\/*.generated.*    the contract's schemas, compiled by ajv, and the types of the client
 *   bundle      dist/                    the product, bundled by esbuild
 *   types       dist/types/              declarations for programs that import the product
 */
import { generateValidators } from './build-validators.js';
import { generateClientTypes } from './client-types.js';

const STEPS = {
  validators: async () => `${await generateValidators()}, ${await generateClientTypes()}`,
  bundle: async () => (await import('./build-bundle.js')).bundle(),
  types: async () => (await import('./build-types.js')).emitTypes(),
};
const asked = process.argv.slice(2);
for (const name of asked.length > 0 ? asked : Object.keys(STEPS)) {
  const started = performance.now();
  const summary = await STEPS[name]();
  process.stdout.write(`build: ${name}: ${summary} (${Math.round(performance.now() - started)} ms)\n`);
}
